package docs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// faultyRegistry gives each of its answers once, in order, and the last one again and again.
type faultyRegistry struct {
	mu      sync.Mutex
	answers []http.HandlerFunc
	seen    []string // paths
}

func (f *faultyRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	answer := f.answers[min(len(f.seen), len(f.answers)-1)]
	f.seen = append(f.seen, r.URL.Path)
	f.mu.Unlock()
	answer(w, r)
}

func answerWith(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}
}

func problemWith(status int, code string) http.HandlerFunc {
	return answerWith(status, "application/problem+json", fmt.Sprintf(`{"status": %d, "code": %q, "detail": "…"}`, status, code))
}

// half is an answer whose connection ends in its middle.
func half(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = fmt.Fprint(w, `{"reservationId": "res_`)
	panic(http.ErrAbortHandler)
}

// The program of docs/howto/http.md sends again what its page says, and nothing else, and never ends
// with a traceback.
func TestPlainHTTPSendsAgain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it runs programs, which the race detector does not see")
	}
	folder := t.TempDir()
	for _, b := range blocksOf(readText(t, "docs/howto/http.md")) {
		if file := fileMark.FindStringSubmatch(strings.TrimSpace(b.before)); file != nil {
			if err := os.WriteFile(filepath.Join(folder, file[1]), []byte(b.body), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	held := answerWith(201, "application/json", `{"reservationId": "res_1", "key": "slug:ann"}`)
	confirmed := answerWith(200, "application/json", `{"key": "slug:ann", "status": "confirmed"}`)
	page := answerWith(502, "text/html", "<h1>Bad Gateway</h1>")
	for name, test := range map[string]struct {
		answers []http.HandlerFunc
		prints  string
		calls   int
	}{
		"half an answer": {[]http.HandlerFunc{half, held, half, confirmed}, "200 slug:ann is theirs", 4},
		"a proxy's page": {[]http.HandlerFunc{page, held, page, confirmed}, "200 slug:ann is theirs", 4},
		"no JSON":        {[]http.HandlerFunc{answerWith(200, "text/html", "hello"), held, confirmed}, "200 slug:ann is theirs", 3},
		"unavailable":    {[]http.HandlerFunc{problemWith(503, "UNAVAILABLE"), problemWith(503, "OUTCOME_UNKNOWN"), problemWith(429, "TOO_MANY_REQUESTS"), held, confirmed}, "200 slug:ann is theirs", 5},
		"too many holds": {[]http.HandlerFunc{problemWith(429, "TOO_MANY_HOLDS")}, "429  TOO_MANY_HOLDS", 1},
		"forbidden":      {[]http.HandlerFunc{problemWith(403, "FORBIDDEN")}, "403  FORBIDDEN", 1},
		"another server": {[]http.HandlerFunc{answerWith(404, "text/html", "no such page")}, "404  INTERNAL", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := &faultyRegistry{answers: test.answers}
			web := httptest.NewServer(registry)
			defer web.Close()
			program := exec.CommandContext(t.Context(), "python3", "names.py", "a-random-secret-of-mine", "ann", "42")
			program.Dir, program.Env = folder, append(os.Environ(), "DIBS_SERVER="+web.URL, "DIBS_KEY=")
			out, err := program.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != test.prints || len(registry.seen) != test.calls {
				t.Errorf("after the calls %q it prints %q, %v; want %q after %d calls", registry.seen, got, err, test.prints, test.calls)
			}
		})
	}
}
