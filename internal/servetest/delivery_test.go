package servetest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"

	"github.com/calldibs/dibs/internal/pgtest"
)

// TestWebhooksSurviveServers kills the server that delivers, while its receiver sometimes
// fails, and stops the next one in order. Every event arrives, and the events of a name
// arrive in order.
func TestWebhooksSurviveServers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a lease must expire, which takes ten seconds")
	}
	dir, store := t.TempDir(), newSchema(t, pgtest.Shared(t))
	config := "[webhooks]\ntimeout = \"500ms\"\npauses = [\"10ms\", \"50ms\"]\nallowPrefixes = [\"127.0.0.0/8\"]\n"
	writeFile(t, dir, "dibs.toml", config)
	receiver := &listener{revisions: make(map[string]uint64), seen: make(map[string]bool)}
	at := httptest.NewServer(receiver)
	t.Cleanup(at.Close)

	first := serve(t, dir, "--store", store, "--config", "dibs.toml")
	mustPost(t, first.url+"/v1/webhooks", fmt.Sprintf(`{"url": %q}`, at.URL), http.StatusCreated)
	tell(t, first.url, "one", 20)
	await(t, "some arrive", func() bool { return receiver.count() > 30 })
	first.kill(t)
	second := serve(t, dir, "--store", store, "--config", "dibs.toml")
	tell(t, second.url, "two", 20)
	await(t, "all arrive from the second server", func() bool { return receiver.count() == 2*20*4 })
	third := serve(t, dir, "--store", store, "--config", "dibs.toml")
	second.signal(t, syscall.SIGTERM)
	if code := second.wait(t); code != 0 {
		t.Errorf("the second server ended with %d", code)
	}
	tell(t, third.url, "three", 20)
	await(t, "all arrive from the third server", func() bool { return receiver.count() == 3*20*4 })
	receiver.mu.Lock()
	defer receiver.mu.Unlock()
	for _, wrong := range receiver.wrong {
		t.Error(wrong)
	}
	t.Logf("%d events, %d requests", len(receiver.seen), receiver.requests)
}

// tell makes four events for each of n names.
func tell(t *testing.T, server, prefix string, n int) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("%s-%d", prefix, i)
		mustPost(t, server+"/v1/claims", fmt.Sprintf(`{"namespace": "slug", "value": %q, "entity": {"type": "t", "id": "%s-0"}}`, name, name), http.StatusCreated)
		for j := range 3 {
			mustPost(t, server+"/v1/names/slug/"+name+"/transfer",
				fmt.Sprintf(`{"from": {"type": "t", "id": "%s-%d"}, "to": {"type": "t", "id": "%s-%d"}}`, name, j, name, j+1), http.StatusOK)
		}
	}
}

// mustPost sends a POST request, and fails the test at another status than want.
func mustPost(t *testing.T, url, body string, want int) {
	t.Helper()
	if a := post(t, url, body); a.status != want {
		t.Fatalf("%s: %d %s", url, a.status, a.body)
	}
}

// listener is a receiver that fails every seventh request.
type listener struct {
	mu        sync.Mutex
	requests  int
	seen      map[string]bool   // accepted ids
	revisions map[string]uint64 // the newest accepted one, by key
	wrong     []string
}

func (l *listener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.seen)
}

// ServeHTTP receives an event.
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var event struct {
		Data struct {
			Key      string
			Revision uint64
		}
	}
	err := json.NewDecoder(r.Body).Decode(&event)
	l.mu.Lock()
	defer l.mu.Unlock()
	id := r.Header.Get("webhook-id")
	switch l.requests++; {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest) // the server was killed while it was sending
	case l.requests%7 == 0:
		w.WriteHeader(http.StatusBadGateway)
	case l.seen[id]: // a repeated event
	default:
		if was := l.revisions[event.Data.Key]; event.Data.Revision <= was {
			l.wrong = append(l.wrong, fmt.Sprintf("%s: revision %d after %d", event.Data.Key, event.Data.Revision, was))
		}
		l.seen[id], l.revisions[event.Data.Key] = true, event.Data.Revision
	}
}
