//go:build unix

package torture_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
	hidden string   // events with this text are not in the feed; empty means none
}

// listen starts a liar before a server, and returns its address.
func (l *liar) listen(t *testing.T, server string) string {
	t.Helper()
	l.honest = &httputil.ReverseProxy{
		// Not as a proxy, which would need a key.
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: server})
			r.Out.Header.Set("Accept-Encoding", "identity")
		},
		ModifyResponse: l.hideEvents,
		FlushInterval:  -1, // events are streamed
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
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

// addEvent answers a history with an event that did not happen.
func addEvent(l *liar, w http.ResponseWriter, path string, body []byte) bool {
	if path != "/v1/names/history" {
		return false
	}
	var page map[string]any
	a := l.ask(path, body)
	_ = json.Unmarshal(a.Body.Bytes(), &page) // then it has no events
	events, _ := page["events"].([]any)
	if len(events) == 0 {
		return false
	}
	more := maps.Clone(events[len(events)-1].(map[string]any))
	more["kind"] = "extended"
	page["events"] = append(events, more)
	body, _ = json.Marshal(page)
	send(w, a, body)
	return true
}

// hideEvents leaves events out of the feed, by pages and by streams.
func (l *liar) hideEvents(answer *http.Response) error {
	if l.hidden == "" || answer.Request.URL.Path != "/v1/events" {
		return nil
	}
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		answer.Body = &censored{ReadCloser: answer.Body, from: bufio.NewReader(answer.Body), hidden: []byte(l.hidden)}
		return nil
	}
	var page map[string]json.RawMessage
	var events []json.RawMessage
	if err := json.NewDecoder(answer.Body).Decode(&page); err != nil {
		return err
	}
	if err := json.Unmarshal(page["events"], &events); err != nil {
		return err
	}
	events = slices.DeleteFunc(events, func(event json.RawMessage) bool { return bytes.Contains(event, []byte(l.hidden)) })
	page["events"], _ = json.Marshal(events)
	body, _ := json.Marshal(page)
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// censored is a stream of events without some of them.
type censored struct {
	io.ReadCloser
	from   *bufio.Reader
	hidden []byte
	left   []byte // of an event that was read
}

func (c *censored) Read(p []byte) (int, error) {
	for len(c.left) == 0 {
		var event []byte
		for !bytes.HasSuffix(event, []byte("\n\n")) {
			line, err := c.from.ReadBytes('\n')
			if err != nil {
				return 0, err
			}
			event = append(event, line...)
		}
		if !bytes.Contains(event, c.hidden) {
			c.left = event
		}
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

// The audit notices what callers cannot.
func TestAuditFindsLies(t *testing.T) {
	t.Parallel()
	notShort(t)
	honest := func(*liar, http.ResponseWriter, string, []byte) bool { return false }
	for want, lying := range map[string]func() *liar{
		"of the history is not in the feed": func() *liar { return &liar{lie: addEvent, every: 3} },
		"was archived, version":             func() *liar { return &liar{lie: honest, every: 3, hidden: `"kind":"archived"`} },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			r := mustBeWrong(t, 8, lying)
			found := slices.ContainsFunc(r.Violations, func(v torture.Violation) bool { return v.Kind == "audit" && strings.Contains(v.What, want) })
			if !found {
				t.Fatalf("found %+v; compared %+v", r.Violations, r.Audit)
			}
		})
	}
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
			lying := func() *liar { return &liar{lie: lie, every: 3} }
			if name == "tells the truth" {
				mustBeRight(t, runBehind(t, histories, lying))
				return
			}
			mustShow(t, mustBeWrong(t, histories, lying))
		})
	}
}

// runBehind runs histories on a server behind a liar.
func runBehind(t *testing.T, histories int, lying func() *liar) torture.Report {
	t.Helper()
	cfg := config(t, "sqlite")
	cfg.Servers, cfg.Histories, cfg.Faults = 1, histories, []string{}
	cfg.Between(func(_ int, address string) string { return lying().listen(t, address) })
	return mustRun(t, cfg)
}

// mustBeWrong runs histories until something is wrong. On a busy machine they are short, and may show nothing.
func mustBeWrong(t *testing.T, histories int, lying func() *liar) torture.Report {
	t.Helper()
	for began := time.Now(); ; {
		r := runBehind(t, histories, lying)
		if !r.OK {
			return r
		}
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("%d histories with %d operations, and nothing is wrong", r.Histories, r.Operations)
		}
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
