package cli_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/server"
)

// serve starts a server for a registry, and returns its URL. An empty key means that it requires
// none.
func serve(t *testing.T, registry *dibs.Registry, store dibs.Store, key string) string {
	t.Helper()
	cfg := server.Config{Registry: registry, Store: store}
	if key != "" {
		cfg.Authenticate = func(_ context.Context, secret string) (access.Caller, error) {
			if secret != key {
				return access.Caller{}, auth.ErrUnknownKey
			}
			return access.Everything, nil
		}
	}
	s := httptest.NewServer(server.New(cfg))
	t.Cleanup(s.Close)
	return s.URL
}

// servedWorld is a world in which each command calls a new server.
type servedWorld struct {
	*world
	served *dibs.Registry // behind the last server
}

func newServedWorld(t *testing.T) *servedWorld {
	t.Helper()
	w := &servedWorld{world: newWorld()}
	w.open = func(registry *dibs.Registry) (*dibs.Registry, error) {
		w.served = registry
		return dibsclient.Dial(serve(t, registry, w.store, ""), dibsclient.Options{})
	}
	return w
}

// run runs a command and closes its registry, so that everything is written.
func (w *servedWorld) run(stdin string, args ...string) outcome {
	w.served = nil
	o := w.world.run(stdin, args...)
	if w.served != nil {
		_ = w.served.Close()
	}
	return o
}
