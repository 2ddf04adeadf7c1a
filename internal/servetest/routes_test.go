package servetest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/calldibs/dibs/internal/wire"
)

// routed writes a configuration with a route for each scope to a file of the same name.
func routed(t *testing.T, dir string, scopes ...string) {
	t.Helper()
	text := `store = "sqlite:rest.db"` + "\n"
	for _, scope := range scopes {
		text += fmt.Sprintf("[[routes]]\nname = %q\nscopes = [%q]\nstore = \"sqlite:%s.db\"\n", scope, scope+".*", scope)
	}
	writeFile(t, dir, "dibs.toml", text)
}

// post sends a POST request, and fails the test without an answer.
func post(t *testing.T, url, body string) answer {
	t.Helper()
	a, err := ask(newClient(t, 1), http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func feed(t *testing.T, p *process, after string) (keys []string, next string) {
	t.Helper()
	a := get(t, p.url+"/v1/events?after="+after)
	var page wire.EventsPage
	if err := json.Unmarshal(a.body, &page); err != nil || a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for _, e := range page.Events {
		keys = append(keys, e.Key)
	}
	return keys, page.NextCursor
}

func hold(t *testing.T, p *process, namespace, value string) wire.Name {
	t.Helper()
	a := post(t, p.url+"/v1/reservations", fmt.Sprintf(`{"namespace": %q, "value": %q}`, namespace, value))
	var held wire.Name
	if err := json.Unmarshal(a.body, &held); err != nil || a.status != http.StatusCreated {
		t.Fatalf("%d %s", a.status, a.body)
	}
	return held
}

// Two servers route scopes to two files.
func TestRoutes(t *testing.T) {
	t.Parallel()
	notRaced(t)
	dir := t.TempDir()
	routed(t, dir, "acme")
	a, b := serve(t, dir, "--config", "dibs.toml"), serve(t, dir, "--config", "dibs.toml")
	for _, namespace := range []string{"slug", "acme.slug", "acme.eu.slug"} {
		held := hold(t, a, namespace, "alice")
		if got := get(t, b.url+"/v1/reservations/"+held.ReservationID); got.status != http.StatusOK {
			t.Errorf("%s: the other server does not find it: %d %s", namespace, got.status, got.body)
		}
		body := fmt.Sprintf(`{"token": %q, "entity": {"type": "user", "id": "1"}}`, held.Token)
		if got := post(t, b.url+"/v1/reservations/"+held.ReservationID+"/confirm", body); got.status != http.StatusOK {
			t.Errorf("%s: the other server does not confirm it: %d %s", namespace, got.status, got.body)
		}
	}
	mustExist(t, dir, "acme.db")

	keys, cursor := feed(t, a, "")
	if len(keys) != 6 {
		t.Errorf("the feed has %v, want a reservation and a confirmation of three names", keys)
	}
	hold(t, a, "acme.slug", "bob")
	if keys, _ := feed(t, b, cursor); len(keys) != 1 || keys[0] != "acme.slug:bob" {
		t.Errorf("after the other server's cursor %q: %v", cursor, keys)
	}

	both := `{"reservations": [{"namespace": "slug", "value": "carol"}, {"namespace": "acme.slug", "value": "carol"}]}`
	got := post(t, a.url+"/v1/reservations/batch", both)
	var problem struct{ Code, Detail string }
	if err := json.Unmarshal(got.body, &problem); err != nil {
		t.Fatal(err)
	}
	if got.status != http.StatusUnprocessableEntity || problem.Code != "INVALID_NAMESPACE" || !strings.Contains(problem.Detail, `("default" and "acme")`) {
		t.Errorf("a batch that spans two stores: %d %s", got.status, got.body)
	}
	if got := get(t, a.url+"/v1/check/slug/carol"); !strings.Contains(string(got.body), `"available":true`) {
		t.Errorf("a refused batch had an effect: %s", got.body)
	}
	if got := get(t, a.url+"/readyz"); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}

	routed(t, dir, "acme", "globex")
	a.signal(t, syscall.SIGHUP)
	await(t, "the log says that routes take a restart", func() bool {
		return strings.Contains(a.stderr.String(), "routes changed; restart to apply them")
	})
	for _, args := range [][]string{{"--store", "sqlite:rest.db"}, {"--store", "sqlite:acme.db"}} {
		alone := finish(t, dir, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
		if alone.wait(t) == 0 || !strings.Contains(alone.stderr.String(), "this store is one of several") {
			t.Errorf("%v was served alone: %s", args, alone.stderr.String())
		}
	}
}

// A server with another route stops servers without it, and waits for them.
func TestRoutesChange(t *testing.T) {
	t.Parallel()
	notRaced(t)
	dir := t.TempDir()
	plain := serve(t, dir, "--store", "sqlite:rest.db") // it has no routes
	held := hold(t, plain, "slug", "alice")
	_, cursor := feed(t, plain, "")
	routed(t, dir, "acme")
	latter := serve(t, dir, "--config", "dibs.toml")
	if got := post(t, plain.url+"/v1/reservations", `{"namespace": "acme.slug", "value": "alice"}`); got.status != http.StatusServiceUnavailable {
		t.Errorf("the server without routes still works: %d %s", got.status, got.body)
	}
	hold(t, latter, "acme.slug", "alice")
	if got := get(t, latter.url+"/v1/reservations/"+held.ReservationID); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	if keys, _ := feed(t, latter, cursor); len(keys) != 1 || keys[0] != "acme.slug:alice" {
		t.Errorf("after an older cursor: %v", keys)
	}
}

// A scope with names moves to a file of its own, and a server with the former routes does not start
// again.
func TestMoveScopes(t *testing.T) {
	t.Parallel()
	notRaced(t)
	dir := t.TempDir()
	plain := serve(t, dir, "--store", "sqlite:rest.db")
	held := hold(t, plain, "acme.slug", "alice")
	hold(t, plain, "slug", "bob")
	routed(t, dir, "acme")
	if p := finish(t, dir, "serve", "--config", "dibs.toml"); p.wait(t) == 0 || !strings.Contains(p.stderr.String(), "dibs move-scopes") {
		t.Errorf("a server with the new routes: %s", p.stderr.String())
	}
	moving := finish(t, dir, "move-scopes", "--store", "sqlite:rest.db", "--config", "dibs.toml", "--yes")
	if moving.wait(t) != 0 {
		t.Fatal(moving.stderr.String())
	}
	if got := post(t, plain.url+"/v1/reservations", `{"namespace": "acme.slug", "value": "carol"}`); got.status != http.StatusServiceUnavailable {
		t.Errorf("the server without routes still works: %d %s", got.status, got.body)
	}
	latter := serve(t, dir, "--config", "dibs.toml")
	if got := get(t, latter.url+"/v1/reservations/"+held.ReservationID); got.status != http.StatusOK || !strings.Contains(string(got.body), `"reserved"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := post(t, latter.url+"/v1/reservations", `{"namespace": "acme.slug", "value": "alice"}`); got.status != http.StatusConflict {
		t.Errorf("the name is not taken after the move: %d %s", got.status, got.body)
	}
	if p := finish(t, dir, "serve", "--store", "sqlite:rest.db"); p.wait(t) == 0 {
		t.Error("a server with the former routes starts")
	}
}
