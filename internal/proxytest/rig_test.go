package proxytest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/logtest"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/profile"
)

// The page's configurations contain these.
const (
	dibsAddress = "127.0.0.1:8080"
	appAddress  = "127.0.0.1:3000"
	nginxKey    = "dibs_your_key"
)

// rig is Dibs and an application behind a proxy.
type rig struct {
	registry  *dibs.Registry
	dibs, app *httptest.Server
	key       string

	mu    sync.Mutex
	asked []*http.Request // the requests to Dibs
}

// newRig starts Dibs with some names, and an application that shows its requests.
func newRig(t *testing.T) *rig {
	t.Helper()
	store := memstore.New(memstore.Config{})
	policies := profile.Policies()
	policies["slug"] = dibs.Policy{Profile: profile.Slug{}, Quarantine: time.Hour}
	reg := coretest.MustOpen(t, store, dibs.Config{Policies: policies})
	wedding, shop := dibs.Entity{Type: "wedding", ID: "42 ü"}, dibs.Entity{Type: "shop", ID: "1"}
	_, err := reg.Apply(t.Context(),
		dibs.Claim{Namespace: "slug", Value: "alice-bob", Entity: wedding},
		dibs.Rename{Namespace: "slug", Value: "the-smiths", Entity: wedding},
		dibs.Claim{Namespace: "slug", Value: "closed", Entity: shop},
		dibs.Decommission{Namespace: "slug", Value: "closed", Entity: shop})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{registry: reg, key: "dibs_of_the_proxy"}
	proxy := access.Caller{Name: "proxy", Grants: []access.Grant{{Verbs: []access.Verb{access.Resolve}, Namespaces: []string{"slug"}}}}
	api := server.New(server.Config{Registry: reg, Store: store, MaxStale: time.Minute, Authenticate: func(_ context.Context, key string) (access.Caller, error) {
		if key != "dibs_of_the_proxy" {
			return access.Caller{}, auth.ErrUnknownKey
		}
		return proxy, nil
	}})
	r.dibs = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.asked = append(r.asked, req.Clone(context.Background()))
		r.mu.Unlock()
		api.ServeHTTP(w, req)
	}))
	t.Cleanup(r.dibs.Close)
	r.app = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(req.Body)
		fmt.Fprintf(w, "%s %s %q %q %q %s", req.Method, req.RequestURI, req.Header.Values("Dibs-Entity-Type"), req.Header.Values("Dibs-Entity-Id"),
			req.Header.Get("Authorization"), body.String())
	}))
	t.Cleanup(r.app.Close)
	return r
}

// fill replaces the addresses in a configuration of the page by those of the rig.
func (r *rig) fill(t *testing.T, config string, more ...string) string {
	t.Helper()
	pairs := append([]string{dibsAddress, r.dibs.Listener.Addr().String(), appAddress, r.app.Listener.Addr().String()}, more...)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(config, pairs[i]) {
			t.Fatalf("the configuration has no %q", pairs[i])
		}
	}
	return strings.NewReplacer(pairs...).Replace(config)
}

// block returns the first block of docs/proxies.md in a language.
func block(t *testing.T, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/proxies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```"+language+"\n")
	text, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("the page has no %s", language)
	}
	return text
}

// program finds a program in the folder of make deps, or in the system.
func program(t *testing.T, name string) string {
	t.Helper()
	for _, path := range []string{"../../bin/" + name, "/usr/sbin/" + name, name} {
		if found, err := exec.LookPath(path); err == nil {
			absolute, err := filepath.Abs(found)
			if err != nil {
				t.Fatal(err)
			}
			return absolute
		}
	}
	t.Fatalf("%s is not installed: run make deps", name)
	return ""
}

// start runs a proxy until the end of the test, and waits until it listens.
func start(t *testing.T, address string, command *exec.Cmd) (url string) {
	t.Helper()
	var log logtest.Buffer
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("%s says:\n%s", filepath.Base(command.Path), log.String())
		}
	})
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return "http://" + address
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ended: %v\n%s", filepath.Base(command.Path), err, log.String())
		default:
		}
	}
	t.Fatalf("%s does not answer\n%s", filepath.Base(command.Path), log.String())
	return ""
}
