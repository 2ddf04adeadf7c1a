package dibsclient_test

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/internal/wire"
)

// newHandler returns the server over a registry. An empty key means that none is wanted.
func newHandler(reg *dibs.Registry, key string) http.Handler {
	cfg := server.Config{Registry: reg}
	if key != "" {
		cfg.Authenticate = func(_ context.Context, sent string) (access.Caller, error) {
			if sent != key {
				return access.Caller{}, auth.ErrUnknownKey
			}
			return access.Everything, nil
		}
	}
	return server.New(cfg)
}

// writeProblem answers as a server in trouble would.
func writeProblem(w http.ResponseWriter, p *wire.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", "0")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}
