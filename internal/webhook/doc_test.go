package webhook_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// receive is the receiver of docs/webhooks.md.
func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		return
	}
	verifier, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
	if err != nil || verifier.Verify(body, r.Header) != nil {
		http.Error(w, "not signed by us", http.StatusUnauthorized)
		return
	}
	if err := save(r.Header.Get("webhook-id"), body); err != nil { // once for each id
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func save(string, []byte) error { return nil }

func readPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// snippet returns the block of the page in a language.
func snippet(t *testing.T, language string) string {
	t.Helper()
	m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(readPage(t))
	if m == nil {
		t.Fatalf("the page has no code in %s", language)
	}
	return m[1]
}

// The receiver of the page accepts signed messages only.
func TestDocReceiver(t *testing.T) {
	source, err := os.ReadFile("doc_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(source), snippet(t, "go")) {
		t.Error("the receiver of the page differs from the one in this test")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", receive)
	receiver := newReceiver(t, nil)
	receiver.Config.Handler = mux
	r := newRig(t)
	hook, secret := r.hook(receiver.URL)
	t.Setenv("WEBHOOK_SECRET", secret)
	if a := r.ping(hook); a.Status != http.StatusNoContent {
		t.Errorf("%+v", a)
	}
	t.Setenv("WEBHOOK_SECRET", "whsec_bm90IG91cnM=")
	if a := r.ping(hook); a.Status != http.StatusUnauthorized {
		t.Errorf("%+v", a)
	}
}

// The snippets in other languages accept signed messages only.
func TestDocSnippets(t *testing.T) {
	t.Parallel()
	r, receiver := newRig(t), newReceiver(t, nil)
	hook, secret := r.hook(receiver.URL)
	r.ping(hook)
	headers := make(map[string]string)
	for name, values := range receiver.got()[0].header {
		headers[strings.ToLower(name)] = values[0]
	}
	body := string(receiver.got()[0].body)
	for language, c := range map[string]struct{ program, extension, call string }{
		"python": {"python3", "py", "\nimport json, sys\nprint(str(verify(**json.load(sys.stdin))).lower())\n"},
		"js":     {"node", "js", "\nconst q = JSON.parse(require(\"node:fs\").readFileSync(0));\nconsole.log(verify(q.secret, q.headers, q.body));\n"},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(c.program)
			if err != nil {
				t.Skipf("%s is not installed", c.program)
			}
			path := filepath.Join(t.TempDir(), "verify."+c.extension)
			if err := os.WriteFile(path, []byte(snippet(t, language)+c.call), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, q := range []struct{ secret, body, want string }{
				{secret, body, "true"}, {secret, body + " ", "false"}, {"whsec_bm90IG91cnM=", body, "false"},
			} {
				input, err := json.Marshal(map[string]any{"secret": q.secret, "headers": headers, "body": q.body})
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(program, path)
				cmd.Stdin = strings.NewReader(string(input))
				if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != q.want {
					t.Errorf("%s, want %s: %v", out, q.want, err)
				}
			}
		})
	}
}
