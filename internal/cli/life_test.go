package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/internal/wire"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/sqlitestore"
)

// TestLife runs the life of a name on a file, on a server, and on a server that requires a key.
func TestLife(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]func(*testing.T) map[string]string{
		"store": func(t *testing.T) map[string]string {
			return map[string]string{"DIBS_STORE": "sqlite:" + filepath.Join(t.TempDir(), "names.db")}
		},
		"server": func(t *testing.T) map[string]string {
			return map[string]string{"DIBS_SERVER": serveFile(t, "")}
		},
		"server with a key": func(t *testing.T) map[string]string {
			return map[string]string{"DIBS_SERVER": serveFile(t, "the-key-of-all"), "DIBS_KEY": "the-key-of-all"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live(t, place(t))
		})
	}
}

// live runs each step as a process of its own, and checks exit codes and JSON.
func live(t *testing.T, env map[string]string) {
	t.Helper()
	step := func(code int, args ...string) outcome {
		t.Helper()
		o := run(cli.Process{Args: append(args, "--json"), Getenv: func(name string) string { return env[name] }})
		if o.code != code || o.stderr != "" {
			t.Fatalf("%v: exit code %d, want %d\n%s%s", args, o.code, code, o.stdout, o.stderr)
		}
		return o
	}
	hold := decode[wire.Name](t, step(0, "reserve", "slug", "alice-bob", "--ttl", "15m", "--entity", "wedding/42"))
	step(3, "reserve", "slug", "alice-bob")
	step(3, "check", "slug", "alice-bob")
	step(4, "resolve", "slug", "alice-bob")
	env["DIBS_TOKEN"] = "a-token-of-another-caller"
	step(5, "confirm", hold.ReservationID, "--entity", "wedding/42")
	env["DIBS_TOKEN"] = hold.Token
	step(0, "extend", hold.ReservationID, "--ttl", "20m")
	active := decode[wire.Name](t, step(0, "confirm", hold.ReservationID, "--entity", "wedding/42"))
	if active.State != "active" || active.Token != "" || active.Replayed {
		t.Errorf("confirmed: %+v", active)
	}
	if again := decode[wire.Name](t, step(0, "confirm", hold.ReservationID, "--entity", "wedding/42")); !again.Replayed {
		t.Error("a second confirm is a replay")
	}
	step(5, "release", hold.ReservationID)
	step(0, "rename", "slug", "alice-and-bob", "--entity", "wedding/42")
	moved := decode[wire.Resolution](t, step(0, "resolve", "slug", "alice-bob"))
	if moved.Outcome != "moved" || moved.To != "alice-and-bob" {
		t.Errorf("the old name resolves to %+v", moved)
	}
	step(0, "archive", "--entity", "wedding/42")
	step(4, "resolve", "slug", "alice-and-bob")
	step(0, "restore", "--entity", "wedding/42")
	step(0, "resolve", "slug", "alice-and-bob")
	gone := decode[wire.Result](t, step(0, "delete", "--entity", "wedding/42"))
	if len(gone.Freed) != 2 {
		t.Errorf("freed %v", gone.Freed)
	}
	step(0, "check", "slug", "alice-bob", "alice-and-bob")
	whole := decode[wire.EventsPage](t, step(0, "history", "slug", "alice-bob"))
	if len(whole.Events) < 5 || whole.NextCursor != "" {
		t.Errorf("a long life in %d events, and then %q", len(whole.Events), whole.NextCursor)
	}
	last := decode[wire.EventsPage](t, step(0, "history", "slug", "alice-bob", "--limit", "2"))
	rest := decode[wire.EventsPage](t, step(0, "history", "slug", "alice-bob", "--cursor", last.NextCursor))
	if got := slices.Concat(rest.Events, last.Events); len(last.Events) != 2 || rest.NextCursor != "" || !reflect.DeepEqual(got, whole.Events) {
		t.Errorf("in pages %+v, as a whole %+v", got, whole.Events)
	}
	step(2, "reserve")
}

// serveFile returns the URL of a server on a SQLite file.
func serveFile(t *testing.T, key string) string {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "names.db"), sqlitestore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := core.Open(store, dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = registry.Close() })
	return serve(t, server.Config{Registry: registry, Store: store}, key)
}

// Without a valid key a command is refused, with a hint.
func TestDenied(t *testing.T) {
	t.Parallel()
	url := serveFile(t, "the-key-of-all")
	for name, args := range map[string][]string{
		"no key":    {"get", "slug", "alice", "--server", url},
		"wrong key": {"get", "slug", "alice", "--server", url, "--key", "another-key"},
	} {
		o := run(cli.Process{Args: args})
		if o.code != cli.ExitRefused || !strings.Contains(o.stderr, "UNAUTHORIZED") || !strings.Contains(o.stderr, "DIBS_KEY") {
			t.Errorf("%s: exit code %d, stderr: %s", name, o.code, o.stderr)
		}
		if strings.Contains(o.stderr, "another-key") {
			t.Errorf("the key is shown: %s", o.stderr)
		}
		o = run(cli.Process{Args: append(args, "--json")})
		if p := decode[wire.Problem](t, o); o.code != cli.ExitRefused || p.Code != "UNAUTHORIZED" || p.Status != 401 {
			t.Errorf("%s: exit code %d, %+v", name, o.code, p)
		}
	}
}

func decode[T any](t *testing.T, o outcome) T {
	t.Helper()
	var document T
	if err := json.Unmarshal([]byte(o.stdout), &document); err != nil {
		t.Fatalf("%v in %s", err, o.stdout)
	}
	return document
}

// TestFollow reads the feed while names are claimed.
func TestFollow(t *testing.T) {
	t.Parallel()
	registry, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	read, write := io.Pipe()
	ended := make(chan int)
	go func() {
		ended <- cli.Process{
			Args: []string{"events", "--follow", "--json", "--store", "mem:"}, Stdout: write, Stderr: io.Discard,
			Open: func(context.Context, cli.Target) (*dibs.Registry, error) { return registry, nil },
		}.Run()
	}()
	lines := bufio.NewScanner(read)
	for _, name := range []string{"alice", "bob", "carol"} {
		claim := dibs.Claim{Namespace: "slug", Value: name, Entity: dibs.Entity{Type: "user", ID: name}}
		if _, err := registry.Claim(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatal("the feed ended: ", lines.Err())
		}
		var event wire.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil || event.Key != "slug:"+name || event.Kind != "claimed" {
			t.Errorf("%v: %s", err, lines.Text())
		}
	}
	// The reader closes its end: the next event cannot be written.
	_ = read.Close()
	if _, err := registry.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "dave"}); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != cli.ExitUnexpected {
		t.Errorf("exit code %d", code)
	}
}
