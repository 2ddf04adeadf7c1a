package dibs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/memstore"
)

// examplesRemote is the variable that makes examples use a registry over HTTP.
const examplesRemote = "DIBS_EXAMPLES_REMOTE"

// dialled is what overHTTP prints, for TestExamplesRemote to count.
const dialled = "this example is over HTTP"

// overHTTP returns a client of a server with this configuration.
func overHTTP(cfg dibs.Config) *dibs.Registry {
	store := memstore.New(memstore.Config{})
	kept, err := embedded.Open(store, cfg)
	check(err)
	web := httptest.NewServer(server.New(server.Config{Registry: kept, Store: store}))
	client, err := dibsclient.Dial(web.URL, dibsclient.Options{})
	check(err)
	fmt.Fprintln(os.Stderr, dialled)
	return dibs.NewRegistry(served{client, func() error {
		err := client.Close() // before the server, which waits for open streams
		web.Close()
		return errors.Join(err, kept.Close())
	}})
}

// served is the registry of a client; closing it also closes the server.
type served struct {
	*dibs.Registry
	close func() error
}

func (s served) Close() error { return s.close() }

func (s served) Apply(ctx context.Context, request dibs.ApplyRequest) ([]dibs.Result, error) {
	registry := s.As(request.Principal)
	if request.DryRun {
		return registry.DryRun(ctx, request.Commands...)
	}
	return registry.Apply(ctx, request.Commands...)
}

func (s served) History(ctx context.Context, query dibs.HistoryQuery) (dibs.HistoryPage, error) {
	return s.HistoryPage(ctx, query)
}

func (s served) Events(ctx context.Context, query dibs.FeedQuery, wait bool) (dibs.EventPage, error) {
	if wait {
		return s.AwaitEvents(ctx, query)
	}
	return s.Registry.Events(ctx, query)
}

// Between an embedded registry and a server, only one line of a program differs. All examples
// print the same with both, except those that need an embedded registry.
func TestExamplesRemote(t *testing.T) {
	t.Parallel()
	if os.Getenv(examplesRemote) != "" {
		t.Skip("these are the examples")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	examples := exec.CommandContext(t.Context(), program, "-test.run=^Example")
	examples.Env = append(os.Environ(), examplesRemote+"=1")
	output, err := examples.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	const atLeast = 40
	if n := strings.Count(string(output), dialled); n < atLeast {
		t.Errorf("%d examples ran over HTTP, want at least %d", n, atLeast)
	}
}
