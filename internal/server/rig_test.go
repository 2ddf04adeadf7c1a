package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/logtest"
	_ "github.com/calldibs/dibs/internal/parallel"
	"github.com/calldibs/dibs/profile"
)

// rig is a server over an engine, as its clients see it: over HTTP.
type rig struct {
	testing.TB
	server   *Server
	registry *dibs.Registry
	store    *failing
	http     *httptest.Server
	client   *http.Client
	log      *logtest.Buffer

	beforeClose func()
}

// newRig starts a server. Without callers it requires no key.
func newRig(tb testing.TB, e engine, callers map[string]access.Caller, change ...func(*Config)) *rig {
	tb.Helper()
	r := &rig{TB: tb, store: &failing{Store: e.open(tb)}, log: &logtest.Buffer{}, beforeClose: func() {}}
	logger := slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	metrics := NewMetrics()
	var err error
	r.registry, err = core.Open(r.store, dibs.Config{
		Policies: testPolicies(), Logger: logger, Observer: metrics.Observer(), PollEvery: 20 * time.Millisecond,
	})
	if err != nil {
		tb.Fatal(err)
	}
	cfg := Config{
		Registry: r.registry, Store: r.store, MaxStale: 90 * time.Second, Logger: logger, Metrics: metrics,
		RequestTimeout: 3 * patience,
	}
	if callers != nil {
		cfg.Authenticate = authenticator(callers)
	}
	cfg.Webhooks = testWebhooks(r, metrics)
	for _, c := range change {
		c(&cfg)
	}
	r.server = New(cfg)
	r.server.heartbeat, r.server.streamWrite = 20*time.Millisecond, patience
	r.http = httptest.NewUnstartedServer(r.server)
	r.http.Config.ErrorLog = slog.NewLogLogger(logger.Handler(), slog.LevelError)
	r.http.Start()
	r.client = &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 1000},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	tb.Cleanup(r.close)
	return r
}

// listen runs the server with [Server.Run] until the test ends, and returns its address.
func (r *rig) listen(timeouts Timeouts) string {
	r.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.server.Run(ctx, listener, timeouts) }()
	r.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			r.Error(err)
		}
	})
	return listener.Addr().String()
}

func (r *rig) close() {
	r.beforeClose()
	r.server.Drain()
	r.client.CloseIdleConnections()
	r.http.Close()
	if err := r.registry.Close(); err != nil {
		r.Error(err)
	}
}

// authenticator returns callers by their key.
func authenticator(callers map[string]access.Caller) func(context.Context, string) (access.Caller, error) {
	return func(_ context.Context, key string) (access.Caller, error) {
		caller, ok := callers[key]
		if !ok {
			return access.Caller{}, auth.ErrUnknownKey
		}
		return caller, nil
	}
}

// blindSecret is the key of the namespace type "secret".
var blindSecret = bytes.Repeat([]byte("k"), 32)

// testPolicies are the default policies, and one type for each setting of a policy. Types that
// begin with "m" allow short holds.
func testPolicies() map[string]dibs.Policy {
	policies := profile.Policies()
	maps.Copy(policies, map[string]dibs.Policy{
		"mill":     {MinTTL: time.Millisecond, MaxTTL: time.Hour, MaxHold: time.Hour},
		"mwitness": {MinTTL: time.Millisecond, Witness: undecided},
		"word":     {Profile: profile.Slug{}, ReservedWords: dibs.WordList("admin")},
		"kept":     {Quarantine: time.Hour},
		"looks":    {Profile: profile.Username{}, Skeleton: profile.Confusables},
		"few":      {MaxHolds: 1},
		"many":     {ManyPerEntity: true},
		"found":    {RedirectStatus: 302},
		"temp":     {RedirectStatus: 307},
		"perm":     {RedirectStatus: 308},
		"gone":     {ArchivedStatus: 410},
		"secret":   {Profile: profile.Email{}, Blind: []dibs.BlindKey{{ID: "k1", Secret: blindSecret}}},
		"fold":     {Profile: dibs.Exact},
	})
	return policies
}

// undecided is a witness that always answers unknown.
func undecided(context.Context, dibs.SuspectHold) (dibs.Verdict, error) { return dibs.Unknown, nil }

// direct calls a handler without a network, which takes a fraction of the time: for tests that send thousands of requests.
type direct struct{ http.Handler }

// RoundTrip serves a request.
func (d direct) RoundTrip(request *http.Request) (*http.Response, error) {
	body := request.Body
	if body == nil {
		body = http.NoBody
	}
	received := httptest.NewRequest(request.Method, request.URL.RequestURI(), body)
	received.Header, received.ContentLength = request.Header, request.ContentLength
	response := httptest.NewRecorder()
	d.ServeHTTP(response, received)
	return response.Result(), nil
}

// reply is the head of a response.
type reply struct {
	status int
	header http.Header
}

// send sends a request and returns the response with its whole body.
func (r *rig) send(method, path string, header http.Header, body string) (reply, string) {
	r.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, r.http.URL+path, reader)
	if err != nil {
		r.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(req.Header, header)
	res, err := r.client.Do(req)
	if err != nil {
		r.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.Fatalf("%s %s: %v", method, path, err)
	}
	return reply{res.StatusCode, res.Header}, string(text)
}

// notRaced skips a test in the short form, which the race detector runs: its requests come one after the other, so that the
// detector finds nothing, and takes ten times as long.
func notRaced(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("nothing is concurrent")
	}
}

// patience is how long anything may take that must happen: the machine may be busy.
const patience = time.Minute

// eventually waits until a condition holds.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if holds() {
			return
		}
	}
	tb.Fatalf("never: %s", what)
}
