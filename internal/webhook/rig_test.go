package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/logtest"
	_ "github.com/calldibs/dibs/internal/parallel"
	"github.com/calldibs/dibs/internal/webhook"
	"github.com/calldibs/dibs/internal/wire"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/sqlitestore"
)

// loopback has the receivers of tests.
var loopback = netip.MustParsePrefix("127.0.0.0/8")

// rig is a registry with webhooks, on a store that may be shared.
type rig struct {
	testing.TB
	store    dibs.Store
	registry *dibs.Registry
	service  *webhook.Service
	log      *logtest.Buffer
	stop     func() // shuts the dispatcher down, if there is one
}

// newRig opens a registry on its own store.
func newRig(tb testing.TB, change ...func(*webhook.Config)) *rig {
	tb.Helper()
	return rigOn(tb, memstore.New(memstore.Config{}), change...)
}

func rigOn(tb testing.TB, store dibs.Store, change ...func(*webhook.Config)) *rig {
	tb.Helper()
	registry, err := core.Open(store, dibs.Config{PollEvery: 5 * time.Millisecond})
	if err != nil {
		tb.Fatal(err)
	}
	r := &rig{TB: tb, store: store, registry: registry, log: &logtest.Buffer{}, stop: func() {}}
	cfg := webhook.Config{
		Registry: registry, Store: store, Timeout: patience, AllowPrefixes: []netip.Prefix{loopback},
		Pauses: []time.Duration{time.Millisecond, 2 * time.Millisecond, 4 * time.Millisecond}, GiveUpAfter: time.Hour,
		Logger: slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}.WithLimits(quick)
	for _, c := range change {
		c(&cfg)
	}
	r.service = webhook.New(cfg)
	tb.Cleanup(func() {
		r.stop()
		r.service.Close()
		_ = registry.Close()
	})
	return r
}

// patience is how long anything may take that must happen: the machine may be busy.
const patience = time.Minute

// quick are short limits. The lease is long: processes give it back when they stop.
var quick = webhook.Limits{Lease: 2 * patience, Poll: 5 * time.Millisecond, Save: 2 * time.Millisecond}

// hourly makes a failed event wait for longer than a test.
func hourly(c *webhook.Config) { c.Pauses = []time.Duration{time.Hour} }

// withLease sets the timeout of deliveries and the length of the lease.
func withLease(timeout, lease time.Duration) func(*webhook.Config) {
	return func(c *webhook.Config) {
		c.Timeout = timeout
		*c = c.WithLimits(webhook.Limits{Lease: lease, Poll: quick.Poll, Save: quick.Save})
	}
}

func openMemory(testing.TB) dibs.Store { return memstore.New(memstore.Config{}) }

func openSQLite(tb testing.TB) dibs.Store {
	tb.Helper()
	store, err := sqlitestore.Open(context.Background(), filepath.Join(tb.TempDir(), "names.db"), sqlitestore.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return store
}

// deliver starts a dispatcher.
func (r *rig) deliver() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.service.Deliver(ctx)
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
}

// hook creates a webhook for a receiver, and returns it with its secret.
func (r *rig) hook(url string, change ...func(*webhook.Hook)) (*webhook.Hook, string) {
	r.Helper()
	hook := webhook.Hook{URL: url, Namespaces: []string{"*"}, Enabled: true}
	for _, c := range change {
		c(&hook)
	}
	made, secret, err := r.service.Create(context.Background(), hook, webhook.FromBeginning)
	if err != nil {
		r.Fatal(err)
	}
	return made, secret
}

// change changes a webhook.
func (r *rig) change(hook *webhook.Hook, edit func(*webhook.Hook)) *webhook.Hook {
	r.Helper()
	changed, err := r.service.Change(context.Background(), hook.ID, func(h *webhook.Hook) error { edit(h); return nil })
	if err != nil {
		r.Fatal(err)
	}
	return changed
}

// ping pings a webhook.
func (r *rig) ping(hook *webhook.Hook) webhook.Attempt {
	r.Helper()
	a, err := r.service.Ping(context.Background(), hook)
	if err != nil {
		r.Fatal(err)
	}
	return a
}

// claim claims a name: one event.
func (r *rig) claim(namespace, value, owner string) {
	r.Helper()
	_, err := r.registry.Claim(context.Background(), dibs.Claim{Namespace: namespace, Value: value, Entity: dibs.Entity{Type: "user", ID: owner}})
	if err != nil {
		r.Fatal(err)
	}
}

// life claims a name and transfers it n times: n+1 events of one key.
func (r *rig) life(value string, n int) {
	r.Helper()
	owner := func(i int) dibs.Entity { return dibs.Entity{Type: "user", ID: fmt.Sprint(value, i)} }
	r.claim("slug", value, fmt.Sprint(value, 0))
	for i := range n {
		_, err := r.registry.Transfer(context.Background(), dibs.Transfer{Namespace: "slug", Value: value, From: owner(i), To: owner(i + 1)})
		if err != nil {
			r.Fatal(err)
		}
	}
}

func (r *rig) status(hook *webhook.Hook) *wire.WebhookStatus {
	r.Helper()
	s, err := r.service.Status(context.Background(), hook)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// saves returns how often the state of a hook was saved.
func (r *rig) saves(hook *webhook.Hook) uint64 {
	r.Helper()
	states, err := r.store.List(context.Background(), dibs.ListQuery{Kind: webhook.KindState, From: hook.ID, Limit: 1})
	if err != nil || len(states) != 1 {
		r.Fatal(states, err)
	}
	return states[0].Revision()
}

// eventually waits for a condition.
func eventually(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if done() {
			return
		}
	}
	tb.Fatalf("timeout: %s", what)
}

// receiver is a program that receives events.
type receiver struct {
	*httptest.Server
	tb testing.TB

	mu       sync.Mutex
	requests []request
	answer   func(request) int // the status; nil means 200
	header   http.Header
	delay    time.Duration // how long it takes
}

// request is a request to a receiver.
type request struct {
	header http.Header
	body   []byte
	event  envelope
	status int // of the response
}

// envelope is a CloudEvent as a receiver decodes it.
type envelope struct {
	SpecVersion, ID, Source, Type, Subject, Time, DataContentType string
	Data                                                          struct {
		Cursor, Kind, Key, Namespace, Canonical, Value string
		Revision                                       uint64
	}
}

func newReceiver(tb testing.TB, answer func(request) int) *receiver {
	tb.Helper()
	r := &receiver{tb: tb, answer: answer, header: make(http.Header)}
	r.Server = httptest.NewServer(r)
	tb.Cleanup(r.Close)
	return r
}

// ServeHTTP records a request, and answers it.
func (r *receiver) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	body, err := io.ReadAll(hr.Body)
	if err != nil {
		return
	}
	req := request{header: hr.Header.Clone(), body: body, status: http.StatusOK}
	if err := json.Unmarshal(body, &req.event); err != nil {
		r.tb.Errorf("the body is not JSON: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.delay > 0 {
		time.Sleep(r.delay)
	}
	if r.answer != nil {
		req.status = r.answer(req)
	}
	r.requests = append(r.requests, req)
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(req.status)
}

// set replaces the function that answers requests.
func (r *receiver) set(answer func(request) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// refuseOnly refuses events of one name.
func refuseOnly(canonical string, status int) func(request) int {
	return func(q request) int {
		if q.event.Data.Canonical == canonical {
			return status
		}
		return http.StatusOK
	}
}

func always(status int) func(request) int { return func(request) int { return status } }

// got returns all requests so far.
func (r *receiver) got() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// accepted returns the requests with a 2xx response.
func (r *receiver) accepted() []request {
	return slices.DeleteFunc(r.got(), func(q request) bool { return q.status/100 != 2 })
}

// checkOrder checks that all events were accepted, and that the first acceptances of each key
// are in the order of revisions. Repetitions do not matter.
func checkOrder(tb testing.TB, requests []request, wantEvents int) {
	tb.Helper()
	last, seen := make(map[string]uint64), make(map[string]bool)
	for _, q := range requests {
		if seen[q.event.ID] || q.event.Type == "dibs.webhook.ping" {
			continue
		}
		seen[q.event.ID] = true
		key := q.event.Data.Key
		if q.event.Data.Revision <= last[key] {
			tb.Errorf("%s: revision %d after %d", key, q.event.Data.Revision, last[key])
		}
		last[key] = q.event.Data.Revision
	}
	if len(seen) != wantEvents {
		tb.Errorf("%d events were accepted, want %d", len(seen), wantEvents)
	}
}

// kindsInSource reads the kinds of event from the source code, which cannot miss one.
func kindsInSource(tb testing.TB) []string {
	tb.Helper()
	source, err := os.ReadFile("../../event.go")
	if err != nil {
		tb.Fatal(err)
	}
	var kinds []string
	for _, m := range regexp.MustCompile(`EventKind = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		kinds = append(kinds, m[1])
	}
	if len(kinds) < 15 {
		tb.Fatalf("found only %d kinds", len(kinds))
	}
	return kinds
}
