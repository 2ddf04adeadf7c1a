package dibsclient_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
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

// clock moves only when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// open returns an embedded registry in memory.
func open(t testing.TB, cfg dibs.Config, now func() time.Time) *dibs.Registry {
	t.Helper()
	reg, err := core.Open(memstore.New(memstore.Config{Now: now}), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	return reg
}

// dial returns a client of a server.
func dial(t testing.TB, url string, options dibsclient.Options) *dibs.Registry {
	t.Helper()
	return dialWithin(t, url, options, dibsclient.Limits{})
}

func dialWithin(t testing.TB, url string, options dibsclient.Options, limits dibsclient.Limits) *dibs.Registry {
	t.Helper()
	limits.FirstPause = time.Millisecond
	reg, err := dibsclient.DialWithin(url, options, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	return reg
}

// rig is a registry, a server in front of it that can be made to fail, and a client.
type rig struct {
	*dibs.Registry // the client
	server         *dibs.Registry
	url            string
	faults         *faults
}

func newRig(t testing.TB, options dibsclient.Options) *rig {
	t.Helper()
	server := open(t, dibs.Config{PollEvery: 5 * time.Millisecond}, nil)
	f := &faults{next: newHandler(server, "")}
	web := httptest.NewServer(f)
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	return &rig{Registry: dial(t, web.URL, options), server: server, url: web.URL, faults: f}
}

// fault answers a request in place of the server, which is next.
type fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// faults lets requests fail, one after another, and then no more.
type faults struct {
	next http.Handler

	mu   sync.Mutex
	list []fault
	seen int
}

// add lets the next requests fail.
func (f *faults) add(list ...fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, list...)
	f.seen = 0
}

// requests is how many there were since faults were added.
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

// cut ends the connection without an answer.
func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_ = conn.Close()
}

func cutBefore(w http.ResponseWriter, _ *http.Request, _ http.Handler) { cut(w) }

func cutAfter(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	cut(w)
}

// truncate answers with the first half of the answer.
func truncate(w http.ResponseWriter, r *http.Request, next http.Handler) {
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
}

// cutInside ends the connection in the middle of the answer.
func cutInside(w http.ResponseWriter, r *http.Request, next http.Handler) {
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
	panic(http.ErrAbortHandler)
}

// say answers something else, without asking the server.
func say(status int, header http.Header, text string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
}

// sayAfter lets the server do it, and answers something else.
func sayAfter(status int, header http.Header, text string) fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(httptest.NewRecorder(), r)
		say(status, header, text)(w, r, nil)
	}
}

var html = http.Header{"Content-Type": {"text/html; charset=utf-8"}}

// hang answers nothing until the client is gone, after the server has done it.
func hang(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	<-r.Context().Done()
	cut(w)
}

func times(n int, f fault) []fault {
	list := make([]fault, n)
	for i := range list {
		list[i] = f
	}
	return list
}
