//go:build unix

package torture_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/calldibs/dibs/internal/torture"
)

// lie answers a request wrongly, and reports whether it did.
type lie func(l *liar, w http.ResponseWriter, path string, body []byte) bool

// liar stands before a server, and lies once in a while.
type liar struct {
	lie    lie
	every  int64
	calls  atomic.Int64
	honest *httputil.ReverseProxy
	first  sync.Map // the first answer to each read, by path and body
}

// listen starts a liar before a server, and returns its address.
func (l *liar) listen(t *testing.T, server string) string {
	t.Helper()
	l.honest = &httputil.ReverseProxy{
		// Not as a proxy, which would need a key.
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: server}) },
		FlushInterval: -1, // events are streamed
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			l.honest.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		if l.calls.Add(1)%l.every == 0 && l.lie(l, w, r.URL.Path, body) {
			return
		}
		a := l.ask(r.URL.Path, body)
		l.first.LoadOrStore(r.URL.Path+string(body), a)
		send(w, a, a.Body.Bytes())
	}))
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	return strings.TrimPrefix(proxy.URL, "http://")
}

// ask asks the server.
func (l *liar) ask(path string, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept-Encoding", "identity")
	a := httptest.NewRecorder()
	l.honest.ServeHTTP(a, r)
	return a
}

func send(w http.ResponseWriter, a *httptest.ResponseRecorder, body []byte) {
	w.Header().Set("Content-Type", a.Header().Get("Content-Type"))
	w.WriteHeader(a.Code)
	_, _ = w.Write(body)
}

// dropWrite answers as if a command were done, and does nothing.
func dropWrite(l *liar, w http.ResponseWriter, path string, body []byte) bool {
	var request map[string]any
	if path != "/v1/apply" || json.Unmarshal(body, &request) != nil {
		return false
	}
	request["dryRun"] = true
	body, _ = json.Marshal(request)
	a := l.ask(path, body)
	send(w, a, a.Body.Bytes())
	return true
}

// readStale answers a read as it did the first time.
func readStale(l *liar, w http.ResponseWriter, path string, body []byte) bool {
	first, ok := l.first.Load(path + string(body))
	if !ok || path != "/v1/resolve" {
		return false
	}
	a := first.(*httptest.ResponseRecorder)
	send(w, a, a.Body.Bytes())
	return true
}

// giveTwice sends a command to another registry, in which the name is still free, as two servers
// do that lost sight of each other.
func giveTwice(l *liar, w http.ResponseWriter, path string, body []byte) bool {
	if path != "/v1/apply" {
		return false
	}
	a := l.ask(path, bytes.ReplaceAll(body, []byte(`"torture-`), []byte(`"another-`)))
	send(w, a, bytes.ReplaceAll(a.Body.Bytes(), []byte(`"another-`), []byte(`"torture-`)))
	return true
}

// Torture notices servers that lie, and shows it by few operations and a picture of them.
func TestLiesAreFound(t *testing.T) {
	t.Parallel()
	histories := 8
	if testing.Short() {
		histories = 4
	}
	for name, lie := range map[string]lie{
		"drops acknowledged writes": dropWrite, "answers stale reads": readStale, "gives names twice": giveTwice,
		"tells the truth": func(*liar, http.ResponseWriter, string, []byte) bool { return false },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t, "sqlite")
			cfg.Servers, cfg.Histories, cfg.Faults = 1, histories, []string{}
			cfg.Between(func(_ int, address string) string { return (&liar{lie: lie, every: 3}).listen(t, address) })
			r := mustRun(t, cfg)
			if name == "tells the truth" {
				mustBeRight(t, r)
				return
			}
			if r.OK {
				t.Fatalf("%d histories with %d operations, and nothing is wrong", r.Histories, r.Operations)
			}
			mustShow(t, r)
		})
	}
}

// mustShow checks that a violation of a history is shown.
func mustShow(t *testing.T, r torture.Report) {
	t.Helper()
	least := 1000
	for _, v := range r.Violations {
		if v.Kind != "history" {
			continue
		}
		page, err := os.ReadFile(v.Picture)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(page), "<rect "); n != len(v.Operations) || n == 0 {
			t.Errorf("the picture has %d operations, the report %d", n, len(v.Operations))
		}
		least = min(least, len(v.Operations))
	}
	if least > 60 {
		t.Errorf("the shortest history has %d operations", least)
	}
	t.Logf("%d violations, the shortest history has %d operations; %.1f s", len(r.Violations), least, r.Seconds)
}
