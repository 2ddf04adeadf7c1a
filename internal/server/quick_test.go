package server

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibscache"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/limit"
)

// varying are the parts of answers that differ between two registries.
var varying = regexp.MustCompile(`()20\d\d-[0-9T:.-]+Z|"(token|createdAt|expiresAt|until|remainingMs|ageMs|endedAt|confirmedAt)":("[^"]*"|\d+)`)

// Quick calls and the API library give the same answers to the same requests, also to wrong ones:
// a server is asked the usual way, and another one so that only the library answers.
func TestQuickCallsAnswerLikeTheLibrary(t *testing.T) {
	t.Parallel()
	notRaced(t)
	quick, library := newQuickRig(t), newQuickRig(t)
	negotiated := http.Header{"Accept": {"application/json, */*;q=0.5"}}
	if wantsJSON(negotiated["Accept"]) {
		t.Fatal("the library would not be asked")
	}
	for _, q := range quickRequests() {
		header, negotiating := maps.Clone(q.header), maps.Clone(negotiated)
		maps.Copy(negotiating, q.header)
		got, body := quick.send(q.method, q.path, header, q.body)
		want, wantBody := library.send(q.method, q.path, negotiating, q.body)
		for _, h := range []http.Header{got.header, want.header} {
			h.Del("Date")
			h.Del("Content-Length") // texts that differ have different lengths
		}
		if got.status != want.status || !maps.EqualFunc(got.header, want.header, slices.Equal[[]string]) {
			t.Errorf("%s %s %.100s: %d %v, want %d %v", q.method, q.path, q.body, got.status, got.header, want.status, want.header)
		}
		body, wantBody = varying.ReplaceAllString(body, `"$2"`), varying.ReplaceAllString(wantBody, `"$2"`)
		if body != wantBody {
			t.Errorf("%s %s %.100s:\n%s\nwant\n%s", q.method, q.path, q.body, body, wantBody)
		}
	}
}

func newQuickRig(t *testing.T) *rig {
	t.Helper()
	grants := []access.Grant{{Verbs: []access.Verb{access.All}, Namespaces: []string{"*"}}}
	r := newRig(t, inMemory, map[string]access.Caller{
		"":       {Grants: grants},
		"alice":  {Name: "alice", Grants: grants},
		"reader": {Name: "reader", Grants: []access.Grant{{Verbs: []access.Verb{access.Get}, Namespaces: []string{"slug"}}}},
	}, func(cfg *Config) {
		cfg.MaxStale = 7 * time.Second
		cfg.Limits = limit.Limits{Reads: limit.Rate{N: 1000, Per: time.Hour}, Writes: limit.Rate{N: 1000, Per: time.Hour}, Checks: limit.Rate{N: 1000, Per: time.Hour}}
	})
	for _, claim := range []dibs.Claim{
		{Namespace: "slug", Value: "alice", Entity: dibs.Entity{Type: "user", ID: "1"}},
		{Namespace: "slug", Value: "old", Entity: dibs.Entity{Type: "üser", ID: "2 %"}},
		{Namespace: "gone", Value: "archived", Entity: dibs.Entity{Type: "shop", ID: "3"}},
	} {
		if _, err := r.registry.Claim(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.registry.Apply(t.Context(),
		dibs.Rename{Namespace: "slug", Value: "new", Entity: dibs.Entity{Type: "üser", ID: "2 %"}},
		dibs.Archive{Entity: dibs.Entity{Type: "shop", ID: "3"}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type quickRequest struct {
	method, path, body string
	header             http.Header
}

// quickRequests are requests of quick calls, usual and unusual, right and wrong.
func quickRequests() (all []quickRequest) {
	names := []string{
		"slug/alice", "slug/Alice", "slug/old", "slug/new", "slug/free", "gone/archived", "secret/a@example.com", "fold/a%2Fb", "fold/%2E",
		"slug/%FF", "slug/" + url.PathEscape("Jörg & <b>\"x\""), "slug/a%00", "Bad/x", "a.b.c.d.e.f.g.h.i.j/x", "slug/" + strings.Repeat("x", 3000), "slug/", "slug//x", "slug/./x", "slug/a/b",
	}
	for _, name := range names {
		for _, query := range []string{"", "?", "?suggest=2", "?suggest=x", "?no=1", "?%zz"} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				all = append(all, quickRequest{method: method, path: "/v1/resolve/" + name + query}, quickRequest{method: method, path: "/v1/check/" + name + query})
			}
		}
	}
	for _, header := range []http.Header{
		{"Accept": {"*/*"}},
		{"Accept": {"application/json"}},
		{"Accept": {"text/html"}},
		{"Cache-Control": {"no-cache"}},
		{"If-None-Match": {"*"}},
		{"Authorization": {"Bearer alice"}},
		{"Authorization": {"Bearer reader"}},
		{"Authorization": {"Bearer nobody"}},
		{"Authorization": {"Bearer alice", "Bearer reader"}},
	} {
		all = append(all,
			quickRequest{method: http.MethodGet, path: "/v1/resolve/slug/alice", header: header}, quickRequest{method: http.MethodGet, path: "/v1/check/slug/alice", header: header},
			quickRequest{method: http.MethodPost, path: "/v1/reservations", header: header, body: `{"namespace":"slug","value":"with-header"}`})
	}
	for _, body := range []string{
		`{"namespace":"slug","value":"a"}`, `{"namespace":"slug","value":"a"}`, `{"namespace":"slug","value":"b","ttlMs":60000,"entity":{"type":"user","id":"9"}}`,
		`{"namespace":"slug","value":"c","correlationId":"x","field":"name"}`, `{"namespace":"slug","value":"alice","field":"name"}`,
		`{"namespace":"word","value":"admin"}`, `{"namespace":"word","value":"admin","overrideReserved":true}`, `{"namespace":"slug","value":"d","meta":{"a":"b"}}`,
		`{"namespace":"secret","value":"a@example.com"}`, `{"namespace":"Bad","value":"a"}`, `{"namespace":"slug","value":""}`, `{"namespace":"slug","value":"e","ttlMs":1}`,
		`{"namespace":"slug","value":"f","ttlMs":-1}`, `{"namespace":"slug","value":"f","ttlMs":1.5}`, `{"namespace":"slug","value":"f","ttlMs":"1"}`,
		`{"namespace":"slug","value":"f","entity":{"type":"user"}}`, `{"namespace":"slug","value":"f","entity":{"type":"","id":""}}`, `{"namespace":"slug","value":"f","entity":null}`,
		`{"namespace":"slug","value":"i","token":"short"}`, `{"namespace":"slug","value":"j","token":"a-token-of-some-length{"}`, `{"namespace":"slug","value":"j","token":1}`,
		`{"namespace":"slug"}`, `{}`, `[]`, `null`, `{"namespace":"slug","value":"g","value":"h"}`, `{"namespace":"slug","Value":"g"}`, `{"namespace":"slug","value":"g","more":1}`,
		`{"namespace":"slug","value":"g"`, `{"namespace":"slug","value":"g"} x`, "{\"namespace\":\"slug\",\"value\":\"\xff\"}", `{"namespace":"slug","value":"\u0067"}`,
		`{"namespace":"slug","value":"` + strings.Repeat("x", 3000) + `"}`, `{"namespace":"slug","value":"` + strings.Repeat("y", 5000) + `"}`, strings.Repeat(" ", maxQuick) + "{}",
	} {
		for _, token := range []string{"", "short", "a-token-of-some-length"} {
			q := quickRequest{method: http.MethodPost, path: "/v1/reservations", body: body, header: http.Header{}}
			if token != "" {
				q.header.Set("Idempotency-Key", token+body[:min(len(body), 1)])
			}
			all = append(all, q)
		}
	}
	return append(all, quickRequest{method: http.MethodPost, path: "/v1/reservations?x=1", body: `{"namespace":"slug","value":"z"}`})
}

// reusable is a response that is written again and again.
type reusable struct {
	header http.Header
	status int
}

func (r *reusable) Header() http.Header         { return r.header }
func (r *reusable) Write(b []byte) (int, error) { return len(b), nil }
func (r *reusable) WriteHeader(status int)      { r.status = status }

// SetWriteDeadline is for http.ResponseController.
func (r *reusable) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline is for http.ResponseController.
func (r *reusable) SetReadDeadline(time.Time) error { return nil }

// Each hot call allocates little. The counts have a margin of a few, for the pools.
func TestQuickCallsAllocateLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector, pools lose what they have")
	}
	r := newRig(t, inMemory, nil)
	if _, err := r.registry.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "alice", Entity: dibs.Entity{Type: "user", ID: "1"}}); err != nil {
		t.Fatal(err)
	}
	cache, err := dibscache.New(r.registry, dibscache.Config{MaxStale: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cache.Close() })
	reserved := 0
	exact := New(Config{Registry: r.registry})
	caching := New(Config{Registry: r.registry, Cache: cache})
	get := func(path string) func() *http.Request {
		request := httptest.NewRequest(http.MethodGet, path, nil)
		return func() *http.Request { return request }
	}
	for _, c := range []struct {
		what    string
		server  *Server
		request func() *http.Request
		status  int
		most    float64
	}{
		{"resolve", exact, get("/v1/resolve/slug/alice"), http.StatusOK, 36},
		{"resolve from the cache", caching, get("/v1/resolve/slug/alice"), http.StatusOK, 15},
		{"check from the cache", caching, get("/v1/check/slug/alice"), http.StatusOK, 15},
		{"reserve", exact, func() *http.Request {
			reserved++
			request := httptest.NewRequest(http.MethodPost, "/v1/reservations", strings.NewReader(fmt.Sprintf(`{"namespace":"slug","value":"name-%d"}`, reserved)))
			request.Header.Set("Content-Type", "application/json")
			return request
		}, http.StatusCreated, 100},
		{"no such path", exact, get("/v1/nowhere"), http.StatusNotFound, 60},
	} {
		w := &reusable{header: make(http.Header)}
		n := testing.AllocsPerRun(200, func() {
			clear(w.header)
			c.server.ServeHTTP(w, c.request())
			if w.status != c.status {
				t.Fatalf("%s: status %d", c.what, w.status)
			}
		})
		t.Log(c.what, n)
		if n > c.most {
			t.Errorf("%s: %v allocations, want at most %v", c.what, n, c.most)
		}
	}
}
