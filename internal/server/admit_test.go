package server

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/limit"
)

// wantShed fails unless a response says that nothing happened, with Retry-After.
func (r *rig) wantShed(res reply, text string) {
	r.Helper()
	wait, err := strconv.Atoi(res.header.Get("Retry-After"))
	if res.status != http.StatusServiceUnavailable || err != nil || wait < 1 || wait > 2 || !strings.Contains(text, `"code":"UNAVAILABLE"`) {
		r.Errorf("%d %v %s", res.status, res.header, text)
	}
}

// slow blocks requests with the key "slow" until letGo is called.
func slow(c *Config) (entered chan struct{}, letGo func()) {
	entered, proceed := make(chan struct{}, 100), make(chan struct{})
	c.Authenticate = func(_ context.Context, key string) (access.Caller, error) {
		if key == "slow" {
			entered <- struct{}{}
			<-proceed
		}
		return access.Everything, nil
	}
	return entered, sync.OnceFunc(func() { close(proceed) })
}

// A bounded number of requests is in flight, a bounded number waits, and all others are rejected
// at once. Health and metrics are always answered.
func TestShedding(t *testing.T) {
	t.Parallel()
	r, letGo, working := newBusyRig(t, limit.Limits{MaxInFlight: 2, MaxWaiting: 1, MaxWait: patience})
	if got := r.metric("dibs_requests_in_flight"); got != 2 {
		t.Errorf("%v are in flight", got)
	}
	waiter, gone := context.WithCancel(t.Context())
	waiting := make(chan limit.Admission)
	go func() { waiting <- r.server.limits.gate.Acquire(waiter) }()
	eventually(t, "a request waits", func() bool { return r.server.limits.gate.Waiting() == 1 })
	res, text := r.send(http.MethodPost, "/v1/reservations", nil, `{"namespace": "slug", "value": "a"}`)
	r.wantShed(res, text)
	if got := r.metric(`dibs_requests_limited_total{reason="in_flight"}`); got != 1 {
		t.Errorf("%v were counted", got)
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if res, text := r.send(http.MethodGet, path, nil, ""); res.status != http.StatusOK {
			t.Errorf("%s is %d %s", path, res.status, text)
		}
	}
	gone()
	<-waiting
	letGo()
	working.Wait()
	if res, text := r.send(http.MethodPost, "/v1/reservations", nil, `{"namespace": "slug", "value": "a"}`); res.status != http.StatusCreated {
		t.Errorf("afterwards it is %d %s", res.status, text)
	}
	if log := r.log.String(); strings.Contains(log, `"level":"WARN","msg":"request"`) {
		t.Errorf("the log has a line for each: %s", log)
	}
}

// A request that has waited for long enough is rejected.
func TestSheddingAfterAWait(t *testing.T) {
	t.Parallel()
	r, _, _ := newBusyRig(t, limit.Limits{MaxInFlight: 2, MaxWaiting: 1, MaxWait: 20 * time.Millisecond})
	res, text := r.send(http.MethodPost, "/v1/reservations", nil, `{"namespace": "slug", "value": "a"}`)
	r.wantShed(res, text)
	readDocument(newRig(t, inMemory, nil)).checkAnswer(t, "POST /v1/reservations", res, text)
	if got := r.metric(`dibs_requests_limited_total{reason="queue"}`); got != 1 {
		t.Errorf("%v were counted", got)
	}
}

// newBusyRig returns a server with two requests in flight, which are answered after letGo.
func newBusyRig(t *testing.T, limits limit.Limits) (r *rig, letGo func(), working *sync.WaitGroup) {
	t.Helper()
	var entered chan struct{}
	r = newRig(t, inMemory, nil, func(c *Config) {
		entered, letGo = slow(c)
		c.Limits = limits
	})
	t.Cleanup(letGo)
	working = new(sync.WaitGroup)
	for range 2 {
		working.Go(func() {
			if res, text := r.send(http.MethodGet, "/v1/names/slug/a", as("slow", ""), ""); res.status != http.StatusNotFound {
				t.Errorf("an admitted request gets %d %s", res.status, text)
			}
		})
	}
	<-entered
	<-entered
	return r, letGo, working
}

// A waiting request is admitted as soon as another one ends.
func TestWaitingRequestsAreAdmitted(t *testing.T) {
	t.Parallel()
	var entered chan struct{}
	var letGo func()
	r := newRig(t, inMemory, nil, func(c *Config) {
		entered, letGo = slow(c)
		c.Limits = limit.Limits{MaxInFlight: 1, MaxWaiting: 10, MaxWait: time.Minute}
	})
	t.Cleanup(letGo)
	var all sync.WaitGroup
	ask := func(key string) {
		all.Go(func() {
			if res, text := r.send(http.MethodGet, "/v1/names/slug/a", as(key, ""), ""); res.status != http.StatusNotFound {
				t.Errorf("%d %s", res.status, text)
			}
		})
	}
	ask("slow")
	<-entered
	for range 10 {
		ask("quick")
	}
	eventually(t, "all requests wait", func() bool { return r.server.limits.gate.Waiting() == 10 })
	letGo()
	all.Wait()
	if got := r.metric("dibs_requests_in_flight"); got != 0 {
		t.Errorf("%v are still in flight", got)
	}
}

// Streams have a limit of their own, and do not count as requests in flight.
func TestTooManyStreams(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil, func(c *Config) { c.Limits = limit.Limits{MaxInFlight: 1, MaxStreams: 2} })
	// open opens a stream.
	open := func() (status int, end func() error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.http.URL+"/v1/events", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/event-stream")
		res, err := r.client.Do(req) //nolint:bodyclose // the caller closes it
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Body.Close
	}
	var ends []func() error
	for range 2 {
		status, end := open()
		if status != http.StatusOK {
			t.Fatal(status)
		}
		ends = append(ends, end)
	}
	res, text := r.send(http.MethodGet, "/v1/events", http.Header{"Accept": {"text/event-stream"}}, "")
	r.wantShed(res, text)
	if res, text := r.send(http.MethodGet, "/v1/events", nil, ""); res.status != http.StatusOK {
		t.Errorf("a page is %d %s", res.status, text)
	}
	for _, end := range ends {
		_ = end()
	}
	eventually(t, "there is room again", func() bool {
		status, end := open()
		_ = end()
		return status == http.StatusOK
	})
	if got := r.metric(`dibs_requests_limited_total{reason="streams"}`); got < 1 {
		t.Errorf("%v were counted", got)
	}
}

// A connection over the limit serves one response: 503, or health. Far beyond the limit the
// server accepts no connection until another one ends.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	const most = 8
	r := newRig(t, inMemory, nil, func(c *Config) { c.Limits = limit.Limits{MaxConnections: most} })
	address := r.listen(Timeouts{})
	url := "http://" + address
	clients := make([]*http.Client, most)
	for i := range clients {
		clients[i] = &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
		t.Cleanup(clients[i].CloseIdleConnections)
	}
	ask := func(client *http.Client, path string) (res reply, last bool) {
		t.Helper()
		got, err := client.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, got.Body) // so that the connection can be reused
		_ = got.Body.Close()
		return reply{got.StatusCode, got.Header}, got.Close
	}
	for _, client := range clients {
		if res, last := ask(client, "/v1/names"); res.status != http.StatusOK || last {
			t.Fatal(res.status)
		}
	}
	late := &http.Client{Transport: &http.Transport{}}
	if res, last := ask(late, "/v1/names"); res.status != http.StatusServiceUnavailable || res.header.Get("Retry-After") == "" || !last {
		t.Errorf("on a connection over the limit it is %d %v", res.status, res.header)
	}
	if res, last := ask(late, "/healthz"); res.status != http.StatusOK || !last {
		t.Errorf("health is %d", res.status)
	}
	eventually(t, "surplus connections are closed", func() bool { return r.metric("dibs_connections") == most })

	// Of many silent connections only a bounded number is accepted, and they block no other.
	const surplus = most + most/8 + 16
	for range 3 * surplus {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	if res, _ := ask(clients[0], "/v1/names"); res.status != http.StatusOK {
		t.Errorf("an earlier connection gets %d", res.status)
	}
	if res, _ := ask(late, "/healthz"); res.status != http.StatusOK {
		t.Errorf("health is %d", res.status)
	}
	if got := r.metric("dibs_connections"); got > surplus {
		t.Errorf("%v are open", got)
	}
	if got := r.metric(`dibs_requests_limited_total{reason="connections"}`); got != 1 {
		t.Errorf("%v were counted", got)
	}
}

// Anonymous connections, whether they send requests or nothing, do not keep out callers with a
// key: they are closed first.
func TestAnonymousConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	const most = 8
	r := newRig(t, inMemory, map[string]access.Caller{"good": {Name: "good", Grants: access.Everything.Grants}}, func(c *Config) {
		c.Limits = limit.Limits{MaxConnections: most}
	})
	address := r.listen(Timeouts{})
	dialed := func() *raw {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(patience))
		return &raw{conn, bufio.NewReader(conn)}
	}
	earlier := dialed()
	if status, _, err := earlier.ask(healthy); status != http.StatusNotFound {
		t.Fatal(status, err)
	}
	for range 4 * most {
		if status, _, err := dialed().ask("GET /v1/names HTTP/1.1\r\nHost: x\r\n\r\n"); status != http.StatusUnauthorized {
			t.Fatal(status, err)
		}
		dialed() // sends nothing
	}
	for range 2 {
		if status, last, err := dialed().ask(healthy); status != http.StatusNotFound || last {
			t.Errorf("a new caller gets %d, %v", status, err)
		}
	}
	if status, _, err := earlier.ask(healthy); status != http.StatusNotFound {
		t.Errorf("an earlier caller gets %d, %v", status, err)
	}
}
