package witness_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/witness"
)

var wedding = dibs.Entity{Type: "wedding", ID: "42"}

// suspect returns a hold that expired half a minute ago.
func suspect() dibs.SuspectHold {
	end := time.Date(2026, 3, 1, 12, 5, 0, 0, time.UTC)
	return dibs.SuspectHold{
		ID: dibs.NameID("slug", "alice-bob"), Namespace: "slug", Value: "Alice & Bob", Canonical: "alice-bob", Epoch: 7,
		Entity: wedding, CorrelationID: "corr_1", Meta: map[string]string{"plan": "gold"}, Principal: "checkout",
		CreatedAt: end.Add(-5 * time.Minute), ExpiresAt: end, AskedAt: end.Add(30 * time.Second),
	}
}

// service starts an HTTP server, and returns a witness that asks it.
func service(t *testing.T, handler http.HandlerFunc, change ...func(*witness.HTTPConfig)) *witness.HTTP {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	cfg := witness.HTTPConfig{URL: server.URL + "/witness?tenant=a-secret"}
	for _, c := range change {
		c(&cfg)
	}
	w, err := witness.NewHTTP(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func TestHTTPQuestion(t *testing.T) {
	t.Parallel()
	var got map[string]any
	var head http.Header
	w := service(t, func(out http.ResponseWriter, r *http.Request) {
		head = r.Header
		text, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(text, &got) != nil || r.Method != http.MethodPost {
			t.Errorf("%s %s, %v", r.Method, text, err)
		}
		_, _ = io.WriteString(out, `{"outcome": "exists", "entity": {"type": "wedding", "id": "42"}, "more": 1}`)
	}, func(c *witness.HTTPConfig) { c.Header = http.Header{"Authorization": {"Bearer hunter2"}} })
	verdict, err := w.Ask(t.Context(), suspect())
	if err != nil || verdict != dibs.Exists(wedding) {
		t.Errorf("%v, %v", verdict, err)
	}
	want := map[string]any{
		"reservationId": suspect().ID.String(), "key": "slug:alice-bob", "namespace": "slug", "value": "Alice & Bob", "canonical": "alice-bob",
		"epoch": 7.0, "entity": map[string]any{"type": "wedding", "id": "42"}, "correlationId": "corr_1", "meta": map[string]any{"plan": "gold"},
		"principal": "checkout", "createdAt": "2026-03-01T12:00:00.000Z", "expiresAt": "2026-03-01T12:05:00.000Z", "askedAt": "2026-03-01T12:05:30.000Z",
	}
	if g, w := asJSON(got), asJSON(want); g != w {
		t.Errorf("question\n%s\nwant\n%s", g, w)
	}
	if head.Get("Authorization") != "Bearer hunter2" || head.Get("Content-Type") != "application/json" || head.Get("Idempotency-Key") != "" {
		t.Errorf("headers %v", head)
	}
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestHTTPAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   dibs.Verdict
		fails  string // empty: no error
	}{
		{"exists", 200, `{"outcome": "exists", "entity": {"type": "user", "id": "1"}}`, dibs.Exists(dibs.Entity{Type: "user", ID: "1"}), ""},
		{"absent", 200, `{"outcome": "absent"}`, dibs.Absent, ""},
		{"absent, null", 200, ` {"outcome": "absent", "entity": null} ` + "\n", dibs.Absent, ""},
		{"unknown", 200, `{"outcome": "unknown"}`, dibs.Unknown, ""},
		{"reason", 200, `{"outcome": "unknown", "reason": "being paid"}`, dibs.UnknownBecause("being paid"), ""},

		{"not found", 404, `{"outcome": "absent"}`, dibs.Unknown, "404"},
		{"gone", 410, `{"outcome": "absent"}`, dibs.Unknown, "410"},
		{"created", 201, `{"outcome": "absent"}`, dibs.Unknown, "201"},
		{"no content", 204, ``, dibs.Unknown, "204"},
		{"failed", 500, `{"outcome": "absent"}`, dibs.Unknown, "500"},
		{"forbidden", 403, `{"outcome": "absent"}`, dibs.Unknown, "403"},
		{"nothing", 200, ``, dibs.Unknown, "not JSON"},
		{"page", 200, `<html>absent</html>`, dibs.Unknown, "not JSON"},
		{"null", 200, `null`, dibs.Unknown, `"outcome"`},
		{"list", 200, `[]`, dibs.Unknown, "not JSON"},
		{"word", 200, `"absent"`, dibs.Unknown, "not JSON"},
		{"empty", 200, `{}`, dibs.Unknown, `"outcome"`},
		{"upper case", 200, `{"outcome": "ABSENT"}`, dibs.Unknown, `"outcome"`},
		{"another word", 200, `{"outcome": "gone"}`, dibs.Unknown, `"outcome"`},
		{"broken off", 200, `{"outcome": "absent"`, dibs.Unknown, "not JSON"},
		{"two answers", 200, `{"outcome": "absent"}{"outcome": "exists"}`, dibs.Unknown, "behind"},
		{"garbage behind", 200, `{"outcome": "absent"} x`, dibs.Unknown, "behind"},
		{"absent, and an entity", 200, `{"outcome": "absent", "entity": {"type": "user", "id": "1"}}`, dibs.Unknown, "must not name"},
		{"exists without entity", 200, `{"outcome": "exists"}`, dibs.Unknown, "which entity"},
		{"exists without id", 200, `{"outcome": "exists", "entity": {"type": "user"}}`, dibs.Unknown, "which entity"},
		{"exists with a number", 200, `{"outcome": "exists", "entity": {"type": "user", "id": 1}}`, dibs.Unknown, "not JSON"},
		{"two outcomes", 200, `{"outcome": "exists", "outcome": "absent"}`, dibs.Unknown, "twice"},
		{"two spellings", 200, `{"outcome": "exists", "entity": {"type": "user", "id": "1"}, "Outcome": "unknown"}`, dibs.Unknown, "spelling"},
		{"another spelling", 200, `{"OUTCOME": "absent"}`, dibs.Unknown, "spelling"},
		{"two entities", 200, `{"outcome": "exists", "entity": {"type": "user", "id": "1"}, "entity": {"type": "user", "id": "2"}}`, dibs.Unknown, "twice"},
		{"two ids", 200, `{"outcome": "exists", "entity": {"type": "user", "id": "1", "ID": "2"}}`, dibs.Unknown, "spelling"},
		{"huge", 200, `{"outcome": "absent", "x": "` + strings.Repeat("x", 70_000) + `"}`, dibs.Unknown, "more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := service(t, func(out http.ResponseWriter, _ *http.Request) {
				out.WriteHeader(c.status)
				_, _ = io.WriteString(out, c.body)
			})
			verdict, err := w.Ask(t.Context(), suspect())
			if verdict != c.want || (err != nil) != (c.fails != "") {
				t.Errorf("%v, %v", verdict, err)
			}
			if c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("%v, want %s", err, c.fails)
			}
		})
	}
}

// Redirects are not followed.
func TestHTTPRedirect(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		w := service(t, func(out http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/witness" {
				t.Error("the redirect was followed")
				_, _ = io.WriteString(out, `{"outcome": "absent"}`)
				return
			}
			http.Redirect(out, r, "/elsewhere", status)
		})
		if verdict, err := w.Ask(t.Context(), suspect()); verdict != dibs.Unknown || err == nil {
			t.Errorf("%d: %v, %v", status, verdict, err)
		}
	}
}

// Without an answer the verdict is unknown, and no error contains the URL.
func TestHTTPTrouble(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	wait := func(r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client left
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	}
	quick := func(c *witness.HTTPConfig) { c.Timeout = 50 * time.Millisecond }
	for name, w := range map[string]*witness.HTTP{
		"within 50ms": service(t, func(_ http.ResponseWriter, r *http.Request) { wait(r) }, quick),
		"no answer within": service(t, func(out http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(out, `{"outcome": "absent"}`)
			_ = http.NewResponseController(out).Flush()
			wait(r)
		}, quick),
		"EOF": service(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		"broke off": service(t, func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(out, `{"outcome": "absent"}`)
		}),
		"refused": service(t, nil, func(c *witness.HTTPConfig) { c.URL = "http://127.0.0.1:1/?tenant=a-secret" }),
		"HTTP":    service(t, nil, func(c *witness.HTTPConfig) { c.URL = strings.Replace(c.URL, "http:", "https:", 1) }),
	} {
		verdict, err := w.Ask(t.Context(), suspect())
		if verdict != dibs.Unknown || err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "a-secret") {
			t.Errorf("%s: %v, %v", name, verdict, err)
		}
	}
	close(stop)
}

// No more than AtOnce questions are in flight.
func TestHTTPAtOnce(t *testing.T) {
	t.Parallel()
	var inFlight, most atomic.Int32
	answer := make(chan struct{})
	w := service(t, func(out http.ResponseWriter, _ *http.Request) {
		n := inFlight.Add(1)
		defer inFlight.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		<-answer
		_, _ = io.WriteString(out, `{"outcome": "absent"}`)
	}, func(c *witness.HTTPConfig) { c.AtOnce = 2 })
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if verdict, err := w.Ask(t.Context(), suspect()); verdict != dibs.Absent || err != nil {
				t.Errorf("%v, %v", verdict, err)
			}
		})
	}
	for inFlight.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if verdict, err := w.Ask(ended, suspect()); verdict != dibs.Unknown || err == nil {
		t.Errorf("with an ended context: %v, %v", verdict, err)
	}
	close(answer)
	group.Wait()
	if most.Load() != 2 {
		t.Errorf("%d questions in flight, want 2", most.Load())
	}
}

func TestHTTPConfig(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "orders", "ftp://h/", "http://", "https:///x", "http://u:hunter2@h/", "http://h/#a", "http://h/hunter2%zz", "\x00hunter2"} {
		if _, err := witness.NewHTTP(witness.HTTPConfig{URL: url}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := witness.NewHTTP(witness.HTTPConfig{URL: "http://h", AtOnce: -1}); err == nil {
		t.Error("a negative AtOnce is accepted")
	}
}

// A program may have replaced the default transport, for tracing for example. This test is not
// parallel, since it does so too.
func TestAnotherDefaultTransport(t *testing.T) {
	usual := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = usual })
	http.DefaultTransport = struct{ http.RoundTripper }{usual}
	if _, err := witness.NewHTTP(witness.HTTPConfig{URL: "https://orders.internal/witness"}); err != nil {
		t.Fatal(err)
	}
}
