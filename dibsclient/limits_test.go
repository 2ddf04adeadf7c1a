package dibsclient_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/memstore"
)

// newLimitedServer returns a server with limits, and a function that returns how often it
// sent a status.
func newLimitedServer(t *testing.T, limits limit.Limits, slow time.Duration) (url string, answered func(status int) int64) {
	t.Helper()
	store := memstore.New(memstore.Config{})
	api := server.New(server.Config{
		Registry: openStore(t, store, dibs.Config{}), Store: store, Limits: limits,
		Authenticate: func(context.Context, string) (access.Caller, error) {
			time.Sleep(slow)
			return access.Caller{Name: "ann", Grants: access.Everything.Grants}, nil
		},
	})
	counts := make(map[int]*atomic.Int64)
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		counts[status] = new(atomic.Int64)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := &statusRecorder{ResponseWriter: w}
		api.ServeHTTP(recorder, r)
		if n := counts[recorder.status]; n != nil {
			n.Add(1)
		}
	}))
	t.Cleanup(web.Close)
	return web.URL, func(status int) int64 { return counts[status].Load() }
}

type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// The client retries calls that a limit refused, also changes that are not safe to repeat:
// the server has not applied them.
func TestRetriesAfterLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		limits limit.Limits
		slow   time.Duration
		status int
	}{
		{"too many requests of one caller", limit.Limits{Writes: limit.Rate{N: 32, Per: 2 * time.Second}}, 0, http.StatusTooManyRequests},
		{"too many at once", limit.Limits{MaxInFlight: 4, MaxWait: time.Millisecond}, 5 * time.Millisecond, http.StatusServiceUnavailable},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			url, answered := newLimitedServer(t, c.limits, c.slow)
			reg, err := dibsclient.Dial(url, dibsclient.Options{Retries: 1000, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = reg.Close() })
			const callers = 40
			for round := 0; answered(c.status) == 0; round++ { // on a busy machine callers may come slowly
				if round == 20 {
					t.Fatalf("the server never sent %d", c.status)
				}
				var all sync.WaitGroup
				for i := range callers {
					all.Go(func() {
						id := fmt.Sprint(round*callers + i)
						if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "name-" + id, Entity: dibs.Entity{Type: "user", ID: id}}); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
			}
		})
	}
}

// The client does not retry earlier than Retry-After says.
func TestObeysRetryAfter(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			begin, tries := time.Now(), 0
			reg, err := dibsclient.Dial("http://localhost", dibsclient.Options{HTTPClient: &http.Client{Transport: roundTripper(func(*http.Request) *http.Response {
				tries++
				w := httptest.NewRecorder()
				w.Header().Set("Content-Type", "application/problem+json")
				if time.Since(begin) < 7*time.Second {
					w.Header().Set("Retry-After", "7")
					w.WriteHeader(status)
					fmt.Fprintf(w, `{"status": %d, "code": %q}`, status, map[int]string{429: "TOO_MANY_REQUESTS", 503: "UNAVAILABLE"}[status])
				} else {
					w.Header().Set("Content-Type", "application/json")
					_, _ = fmt.Fprint(w, `{"results": [{"value": "a", "canonical": "a", "available": true}]}`)
				}
				return w.Result()
			})}})
			if err != nil {
				t.Fatal(err)
			}
			list, err := reg.Check(t.Context(), dibs.CheckRequest{Namespace: "slug", Values: []string{"a"}})
			if err != nil || len(list) != 1 || tries != 2 || time.Since(begin) < 7*time.Second || time.Since(begin) > 9*time.Second {
				t.Errorf("%d: %v, %v, after %d tries and %v", status, list, err, tries, time.Since(begin))
			}
			_ = reg.Close()
		})
	}
}

type roundTripper func(*http.Request) *http.Response

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// An import whose values are too long for one request is sent in several.
func TestImportsOfLongValues(t *testing.T) {
	t.Parallel()
	r := newFixture(t, dibsclient.Options{})
	var request dibs.ImportRequest
	for i := range 1500 {
		entity := dibs.Entity{Type: "user", ID: fmt.Sprint(i)}
		request.Imports = append(request.Imports, dibs.Import{Namespace: "title", Value: fmt.Sprintf("%01000d", i), Entity: entity})
	}
	imported, err := r.ImportAll(t.Context(), request)
	if err != nil || len(imported) != len(request.Imports) {
		t.Fatal(len(imported), err)
	}
	for i, result := range imported {
		if result.Err != nil || result.Name.Entity != request.Imports[i].Entity {
			t.Fatalf("%d: %+v", i, result)
		}
	}
}
