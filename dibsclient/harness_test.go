package dibsclient_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/memstore"
)

const (
	token1 = "token-of-the-holder"
	token2 = "token-of-a-stranger"
)

var (
	user1 = dibs.Entity{Type: "user", ID: "1"}
	user2 = dibs.Entity{Type: "user", ID: "2"}
	user3 = dibs.Entity{Type: "user", ID: "3"}
)

// open returns an embedded registry in memory. A nil clock is the machine's.
func open(t testing.TB, cfg dibs.Config, now func() time.Time) *dibs.Registry {
	t.Helper()
	return openStore(t, memstore.New(memstore.Config{Now: now}), cfg)
}

func openStore(t testing.TB, store dibs.Store, cfg dibs.Config) *dibs.Registry {
	t.Helper()
	reg, err := core.Open(store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	return reg
}

// newHandler returns a server of a registry. An empty key means that it requires none.
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

// dial returns a client of a server.
func dial(t testing.TB, url string, options dibsclient.Options) *dibs.Registry {
	t.Helper()
	return dialWithLimits(t, url, options, dibsclient.Limits{})
}

func dialWithLimits(t testing.TB, url string, options dibsclient.Options, limits dibsclient.Limits) *dibs.Registry {
	t.Helper()
	limits.FirstBackoff = time.Millisecond
	reg, err := dibsclient.DialWithLimits(url, options, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	return reg
}

// fixture is a registry behind a server that can be made to fail, and a client.
type fixture struct {
	*dibs.Registry // the client
	server         *dibs.Registry
	url            string
	faults         *faults
}

func newFixture(t testing.TB, options dibsclient.Options) *fixture {
	t.Helper()
	server := open(t, dibs.Config{PollEvery: 5 * time.Millisecond}, nil)
	f := &faults{next: newHandler(server, "")}
	web := httptest.NewServer(f)
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	return &fixture{Registry: dial(t, web.URL, options), server: server, url: web.URL, faults: f}
}

// fault responds to a request in place of the server, which is next.
type fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// faults makes requests fail, one fault each, and passes the others on.
type faults struct {
	next http.Handler

	mu   sync.Mutex
	list []fault
	seen int
}

// add makes the next requests fail, and restarts the count of requests.
func (f *faults) add(list ...fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, list...)
	f.seen = 0
}

// requests returns the number of requests since the last add.
func (f *faults) requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

func (f *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.seen++
	var first fault
	if len(f.list) > 0 {
		first, f.list = f.list[0], f.list[1:]
	}
	f.mu.Unlock()
	if first == nil {
		f.next.ServeHTTP(w, r)
		return
	}
	first(w, r, f.next)
}

// disconnect closes the connection without a response.
func disconnect(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_ = conn.Close()
}

// dropRequest disconnects before the server gets the request.
func dropRequest(w http.ResponseWriter, _ *http.Request, _ http.Handler) { disconnect(w) }

// dropResponse disconnects after the server has done its work.
func dropResponse(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	disconnect(w)
}

// truncate sends the first half of the body as if it were all.
func truncate(w http.ResponseWriter, r *http.Request, next http.Handler) {
	got := httptest.NewRecorder()
	next.ServeHTTP(got, r)
	sendHalf(w, got)
}

// dropInside disconnects in the middle of the body.
func dropInside(w http.ResponseWriter, r *http.Request, next http.Handler) {
	got := httptest.NewRecorder()
	next.ServeHTTP(got, r)
	w.Header().Set("Content-Length", strconv.Itoa(got.Body.Len()))
	sendHalf(w, got)
	panic(http.ErrAbortHandler)
}

func sendHalf(w http.ResponseWriter, got *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", got.Header().Get("Content-Type"))
	w.WriteHeader(got.Code)
	_, _ = w.Write(got.Body.Bytes()[:got.Body.Len()/2])
}

// respond sends another response, without the server.
func respond(status int, header http.Header, text string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
}

// replaceResponse sends another response after the server has done its work.
func replaceResponse(status int, header http.Header, text string) fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		respond(status, header, text)(w, r, nil)
	}
}

func contentType(media string) http.Header { return http.Header{"Content-Type": {media}} }

var html, jsonType = contentType("text/html; charset=utf-8"), contentType("application/json")

// hang sends no response after the server has done its work, until the client disconnects.
func hang(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	<-r.Context().Done()
	disconnect(w)
}

func times(n int, f fault) []fault {
	return slices.Repeat([]fault{f}, n)
}
