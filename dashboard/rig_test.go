package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/logtest"
	_ "github.com/calldibs/dibs/internal/parallel"
)

// childEnv makes the test binary the command line.
const childEnv = "DIBS_DASHBOARD_CHILD"

// TestMain lets the test binary run as a server in a separate process, and ends the browser.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(cli.Process{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}.Run())
	}
	code := m.Run()
	endBrowser()
	os.Exit(code)
}

// patience is how long a condition may take on a busy machine.
const patience = time.Minute

// server is a running server.
type server struct {
	cmd    *exec.Cmd
	stderr logtest.Buffer
	ended  chan struct{}
	dir    string
	url    string
}

var serving = regexp.MustCompile(`msg=serving listen=\S+:(\d+)`)

// serve starts a server in a folder, at an address ("127.0.0.1:0" for a free port), and returns once it listens.
func serve(t *testing.T, dir, listen string, args ...string) *server {
	t.Helper()
	if testing.Short() {
		t.Skip("with the race detector other packages test the server")
	}
	s := &server{ended: make(chan struct{}), dir: dir}
	s.cmd = exec.Command(os.Args[0], append([]string{"serve", "--listen", listen, "--store", "sqlite:dibs.db"}, args...)...)
	s.cmd.Dir, s.cmd.Env, s.cmd.Stderr = dir, []string{childEnv + "=1"}, &s.stderr
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait() // the result is in ProcessState
		close(s.ended)
	}()
	t.Cleanup(func() {
		s.kill()
		if strings.Contains(s.stderr.String(), "panic") || t.Failed() {
			t.Logf("the server's log: %s", s.stderr.String())
		}
	})
	await(t, "the server listens", func() bool {
		select {
		case <-s.ended:
			t.Fatalf("the server did not start: %s", s.stderr.String())
		default:
		}
		port := serving.FindStringSubmatch(s.stderr.String())
		if port != nil {
			s.url = "http://" + net.JoinHostPort("127.0.0.1", port[1])
		}
		return port != nil
	})
	return s
}

// writeConfig writes dibs.toml for a server in a folder.
func writeConfig(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "dibs.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// registry returns a client of the server.
func (s *server) registry(t *testing.T, key string) *dibs.Registry {
	t.Helper()
	reg, err := dibsclient.Dial(s.url, dibsclient.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	return reg
}

// dibs runs the command line in the server's folder, and returns what it prints.
func (s *server) dibs(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir, cmd.Env = s.dir, []string{childEnv + "=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("dibs %v: %v: %s", args, err, out)
	}
	return string(out)
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// browser is the one browser of all tests.
var browser struct {
	sync.Mutex
	ctx    context.Context
	cancel []context.CancelFunc
}

// startBrowser returns the context of the browser.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	browser.Lock()
	defer browser.Unlock()
	if browser.ctx != nil {
		return browser.ctx
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is not installed: run make deps")
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Headless,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.Flag("hide-scrollbars", true), chromedp.Flag("lang", "en-GB"),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(patience),
		// Tests run at once, each in a tab that believes to be in front.
		chromedp.Flag("disable-background-timer-throttling", true), chromedp.Flag("disable-renderer-backgrounding", true),
		chromedp.Flag("disable-backgrounding-occluded-windows", true))
	ctx, cancel := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	browser.ctx, browser.cancel = ctx, []context.CancelFunc{cancel, stop}
	return ctx
}

func endBrowser() {
	for _, cancel := range browser.cancel {
		cancel()
	}
}

// tab is a page in the browser, with cookies of its own.
type tab struct {
	*testing.T
	ctx     context.Context
	url     string
	ignored []string // texts of console errors that are expected
}

// open opens a page of a server, such as "#/names", and fails the test if the page reports an error or breaks its
// content security policy.
func open(t *testing.T, url, hash string) *tab {
	t.Helper()
	return newTab(t, url).start(hash)
}

func newTab(t *testing.T, url string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(startBrowser(t), chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	return &tab{T: t, ctx: ctx, url: url}
}

// another opens a page in a second tab with the same cookies.
func (p *tab) another(hash string) *tab {
	p.Helper()
	ctx, cancel := chromedp.NewContext(p.ctx)
	p.Cleanup(cancel)
	return (&tab{T: p.T, ctx: ctx, url: p.url, ignored: p.ignored}).start(hash)
}

func (p *tab) start(hash string) *tab {
	p.Helper()
	messages := chromedp.Console(p.ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			p.hear(m)
		}
	}()
	if _, err := chromedp.Call(p.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		p.Fatal(err)
	}
	p.size(1440, 900)
	p.do(chromedp.Navigate(p.url + "/" + hash))
	return p
}

// hear reports errors on the page's console. A call that the server refuses is not one: pages show it.
func (p *tab) hear(m chromedp.ConsoleMessage) {
	if !m.IsException() && m.Type != "error" || m.Source == "network" {
		return
	}
	for _, ignored := range p.ignored {
		if strings.Contains(m.Text, ignored) {
			return
		}
	}
	p.Errorf("the page reports %s (%s:%d)", m, m.URL, m.Line)
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.Fatal(err)
	}
}

// size sets the size of the window.
func (p *tab) size(width, height int64) {
	p.Helper()
	p.do(chromedp.EmulateViewport(width, height))
}

// dark sets whether the system prefers dark colours.
func (p *tab) dark(dark bool) {
	p.Helper()
	scheme := map[bool]string{true: "dark", false: "light"}[dark]
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		p.Fatal(err)
	}
}

// eval evaluates an expression on the page.
func eval[T any](p *tab, format string, args ...any) T {
	p.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](fmt.Sprintf(format, args...), chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%s: %v", fmt.Sprintf(format, args...), err)
	}
	return value
}

// holds waits until an expression on the page is true.
func (p *tab) holds(format string, args ...any) {
	p.Helper()
	expression := fmt.Sprintf(format, args...)
	look := chromedp.Evaluate[bool]("Boolean("+expression+")", chromedp.EvalAwaitPromise)
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		holds, err := chromedp.Run(p.ctx, look) // it fails while the browser goes from one document to the next
		switch {
		case holds && err == nil:
			return
		case p.ctx.Err() != nil:
			p.Fatalf("%s: %v", expression, p.ctx.Err())
		case time.Now().After(deadline):
			p.Fatalf("not within %v: %s (%v)\nthe page: %s", patience, expression, err, eval[string](p, "document.body.innerText.slice(0, 3000)"))
		}
	}
}

// sees waits until the page shows a text.
func (p *tab) sees(text string) {
	p.Helper()
	p.holds("document.body?.innerText.includes(%s)", quoted(text))
}

// misses waits until the page no longer shows a text.
func (p *tab) misses(text string) {
	p.Helper()
	p.holds("document.body && !document.body.innerText.includes(%s)", quoted(text))
}

// goTo goes to another page, as a link does.
func (p *tab) goTo(hash string) {
	p.Helper()
	eval[string](p, "location.hash = %s", quoted(hash))
}

// click waits for a button or link with a text, in a dialog if one is open, and clicks it.
func (p *tab) click(text string) {
	p.Helper()
	const find = `[...(document.querySelector("dialog[open]") ?? document).querySelectorAll("button, a, [role=option]")].find((e) => (e.innerText.trim() === %[1]s || e.ariaLabel === %[1]s) && !e.disabled)`
	p.holds(find, quoted(text))
	eval[bool](p, "("+find+".click(), true)", quoted(text))
}

// fill types a text into the field with a label.
func (p *tab) fill(label, text string) {
	p.Helper()
	const find = `[...document.querySelectorAll("label")].find((e) => e.innerText.trim() === %s)?.control`
	p.holds(find, quoted(label))
	eval[bool](p, "("+find+".focus(), document.activeElement.select?.(), true)", quoted(label))
	p.keys(text)
}

// keys presses keys, one after the other.
func (p *tab) keys(keys string) {
	p.Helper()
	p.do(chromedp.KeyEvent(keys))
}

// quoted returns a text as JavaScript writes it.
func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can always be written
	}
	return string(out)
}
