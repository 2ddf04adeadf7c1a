// Package shop_test runs the shops of this folder, one in each language, against a real server:
// all of them must give the same answers.
package shop_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/freeport"
	"github.com/calldibs/dibs/internal/logtest"
)

// beServer makes the test binary a Dibs server.
const beServer = "DIBS_SHOPTEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(beServer) != "" {
		os.Exit(cli.Process{Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr, Environ: map[string]string{}}.Run())
	}
	os.Exit(m.Run())
}

// languages are the shops by their folders. make examples builds all and sets DIBS_EXAMPLES to all; make test, in which
// a plain go test has run that in Go, to others.
var languages = map[string]func(t *testing.T) []string{
	"go":         func(t *testing.T) []string { return []string{goShop(t)} },
	"typescript": func(*testing.T) []string { return []string{"node", "typescript/build/shop.js"} },
	"python":     func(*testing.T) []string { return []string{cmp.Or(os.Getenv("PYTHON"), "python3"), "python/shop.py"} },
}

var goShop = func() func(*testing.T) string {
	var once sync.Once
	var program string
	return func(t *testing.T) string {
		t.Helper()
		once.Do(func() {
			folder, err := os.MkdirTemp("", "dibs-shop-")
			if err != nil {
				t.Fatal(err)
			}
			program = filepath.Join(folder, "shop")
			if out, err := exec.Command("go", "build", "-o", program, "./go").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
		return program
	}
}()

// inEachLanguage runs a test on the shop of each language.
func inEachLanguage(t *testing.T, options options, test func(t *testing.T, s *shop)) {
	t.Helper()
	t.Parallel()
	if testing.Short() {
		t.Skip("starts servers")
	}
	for language, command := range languages {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			if examples := os.Getenv("DIBS_EXAMPLES"); language != "go" && examples == "" || language == "go" && examples == "others" {
				t.Skip("make examples builds and runs it, or go test has run it")
			}
			test(t, newShop(t, command(t), options))
		})
	}
}

// options are settings of a shop and its registry.
type options struct {
	declines string // how many cards of a hundred are declined
	ttl      string // how long a hold lasts
}

// shop is a running shop, with a registry behind a proxy.
type shop struct {
	*testing.T
	command []string
	env     []string
	address string
	process *exec.Cmd
	log     logtest.Buffer
	proxy   *proxy
	names   *dibs.Registry // not through the proxy
}

func newShop(t *testing.T, command []string, o options) *shop {
	t.Helper()
	s := &shop{T: t, command: command, address: freeport.Address(t), proxy: new(proxy)}
	behind := serve(t, s.address, o)
	target, err := url.Parse(behind)
	if err != nil {
		t.Fatal(err)
	}
	s.proxy.to = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	front := httptest.NewServer(s.proxy)
	t.Cleanup(front.Close)
	if s.names, err = dibsclient.Dial(behind, dibsclient.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.names.Close() })
	s.env = []string{"SHOP_DIBS=" + front.URL, "SHOP_LISTEN=" + s.address, "SHOP_DATA=" + filepath.Join(t.TempDir(), "shop")}
	s.start(o.declines)
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("the shop's log:\n%s", s.log.String())
		}
	})
	return s
}

// serve runs a Dibs server with the configuration of this folder, and returns its URL.
func serve(t *testing.T, shopAddress string, o options) (url string) {
	t.Helper()
	text, err := os.ReadFile("dibs.toml")
	if err != nil {
		t.Fatal(err)
	}
	config := strings.Replace(string(text), "localhost:8000", shopAddress, 1)
	config = strings.Replace(config, "[default]\n", "sweepEvery = \"100ms\"\n[default]\ndefaultTTL = \""+cmp.Or(o.ttl, "5m")+"\"\n", 1)
	folder := t.TempDir()
	file := filepath.Join(folder, "dibs.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(os.Args[0], "serve", "--listen", "127.0.0.1:0", "--store", "sqlite:"+filepath.Join(folder, "names.db"), "--config", file)
	server.Env = append(os.Environ(), beServer+"=1")
	var log logtest.Buffer
	server.Stderr = &log
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "Dibs is at "); ok {
			url, _, _ = strings.Cut(rest, ",")
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return url
		}
	}
	t.Fatalf("the server did not start:\n%s", log.String())
	return ""
}

// start starts the shop, again with the same data if it ran before.
func (s *shop) start(declines string) {
	s.Helper()
	s.process = exec.Command(s.command[0], s.command[1:]...)
	s.process.Env = append(os.Environ(), append(s.env, "SHOP_DECLINES="+cmp.Or(declines, "0"), "PYTHONPATH=../../clients/python")...)
	s.process.Stdout, s.process.Stderr = &s.log, &s.log
	if err := s.process.Start(); err != nil {
		s.Fatalf("%v; make examples builds the shops", err)
	}
	s.until("the shop listens", func() bool {
		connection, err := net.Dial("tcp", s.address)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	})
}

// kill kills the shop without warning.
func (s *shop) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// until waits for a condition.
func (s *shop) until(what string, condition func() bool) {
	s.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("not yet: %s\n%s", what, s.log.String())
		}
	}
}

// answer is what a browser gets.
type answer struct {
	status  int
	to      string
	account string
	fields  []string // of refused names
	text    string
}

// browse sends a request of a session. A status of 0 means that there was no answer.
func (s *shop) browse(ctx context.Context, session, method, path string, form url.Values) answer {
	s.Helper()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.address+path, strings.NewReader(form.Encode()))
	if err != nil {
		s.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.AddCookie(&http.Cookie{Name: "session", Value: session})
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return answer{text: err.Error()}
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{text: err.Error()}
	}
	var members struct {
		Account string
		Errors  []struct{ Field string }
	}
	_ = json.Unmarshal(body, &members) // some answers are plain text
	a := answer{status: response.StatusCode, to: response.Header.Get("Location"), account: members.Account, text: string(body)}
	for _, e := range members.Errors {
		a.fields = append(a.fields, e.Field)
	}
	return a
}

// signUp signs up with a username, and names derived from it.
func (s *shop) signUp(session, username string) answer {
	s.Helper()
	return s.browse(s.Context(), session, http.MethodPost, "/signup", formOf(username))
}

func formOf(username string) url.Values {
	return url.Values{"email": {username + "@example.com"}, "username": {username}, "tenant": {username + " inc"}, "card": {"4242"}}
}

// want fails the test unless an answer has a status.
func (s *shop) want(a answer, status int) answer {
	s.Helper()
	if a.status != status {
		s.Fatalf("it is %d, want %d: %s", a.status, status, a.text)
	}
	return a
}

// wantOwned checks that an account has exactly the names of a username.
func (s *shop) wantOwned(account, username string) {
	s.Helper()
	info, err := s.names.Entity(s.Context(), "", dibs.Entity{Type: "account", ID: account})
	if err != nil || len(info.Names) != 3 {
		s.Fatalf("the account %s has %+v, %v", account, info.Names, err)
	}
	for _, name := range info.Names {
		if name.State != dibs.Active || !strings.HasPrefix(name.Canonical, username) {
			s.Errorf("%s is %s", name.Key(), name.State)
		}
	}
}

// namesOf returns the names of a username, by namespace.
func namesOf(username string) map[string]string {
	return map[string]string{"email": username + "@example.com", "username": username, "tenant": username + " inc"}
}

// taken reports whether all names of a username have an owner.
func (s *shop) taken(username string) bool {
	for namespace, value := range namesOf(username) {
		name, err := s.names.Get(s.Context(), dibs.Lookup{Namespace: namespace, Value: value})
		if err != nil || name.State != dibs.Active {
			return false
		}
	}
	return true
}

// free reports whether all names of a username are free.
func (s *shop) free(username string) bool {
	s.Helper()
	for namespace, value := range namesOf(username) {
		found, err := s.names.Check(s.Context(), dibs.CheckRequest{Namespace: namespace, Values: []string{value}})
		if err != nil {
			s.Fatal(err)
		}
		if !found[0].Available {
			return false
		}
	}
	return true
}

// proxy passes requests to the registry, and spoils some of them.
type proxy struct {
	to     http.Handler
	faulty atomic.Pointer[func(*http.Request) fault]
}

type fault int

const (
	none        fault = iota
	loseRequest       // the connection is cut before the registry gets the request
	loseAnswer        // the connection is cut after it
	spoilAnswer       // the registry does its work, and the proxy answers with a page of its own
)

// spoil sets which requests are spoiled; nil means none.
func (p *proxy) spoil(faulty func(*http.Request) fault) {
	if faulty == nil {
		faulty = func(*http.Request) fault { return none }
	}
	p.faulty.Store(&faulty)
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what := none
	if faulty := p.faulty.Load(); faulty != nil {
		what = (*faulty)(r)
	}
	switch what {
	case none:
		p.to.ServeHTTP(w, r)
	case loseRequest:
		panic(http.ErrAbortHandler)
	case loseAnswer:
		p.to.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case spoilAnswer:
		p.to.ServeHTTP(httptest.NewRecorder(), r)
		http.Error(w, "<h1>Oops</h1>", http.StatusInternalServerError)
	}
}

// bodyOf returns the body of a request, which stays readable.
func bodyOf(t *testing.T, r *http.Request) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Logf("a request without its body: %v", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return string(body)
}
