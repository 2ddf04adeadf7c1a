package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/limit"
)

// wantOverShare fails unless a response says that the caller has used up its share.
func (r *rig) wantOverShare(res reply, text string) {
	r.Helper()
	if res.status != http.StatusTooManyRequests || res.header.Get("Retry-After") == "" || !strings.Contains(text, "per caller") {
		r.Errorf("%d %s", res.status, text)
	}
}

// shared returns a rig in which one caller may have two of four requests in flight, and two of
// four waiting. The caller greedy has two tokens.
func shared(t *testing.T) *rig {
	everything := access.Everything.Grants
	return newRig(t, inMemory, map[string]access.Caller{
		"token-1": {Name: "greedy", Grants: everything}, "token-2": {Name: "greedy", Grants: everything},
		"modest": {Name: "modest", Grants: everything},
	}, func(c *Config) {
		c.Limits = limit.Limits{MaxInFlight: 4, MaxWaiting: 4, MaxWait: time.Minute, MaxStreams: 4, CallerShare: 50}
		c.RequestTimeout = time.Hour
	})
}

// One caller cannot use all slots, and gets 429 when it has used up its share.
func TestShareOfRequests(t *testing.T) {
	t.Parallel()
	r := shared(t)
	body := `{"namespace": "slug", "value": "a"}`
	var conns []*raw
	for i := range 4 { // two in flight, then two waiting, until their bodies arrive
		conn := r.raw()
		head, _, _ := strings.Cut(post("/v1/reservations", "Authorization: Bearer token-1\r\nIdempotency-Key: "+someToken+"\r\n", body), "{")
		if _, err := io.WriteString(conn, head); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		if i == 1 {
			eventually(t, "two are in flight", func() bool { return r.metric("dibs_requests_in_flight") == 2 })
		}
	}
	eventually(t, "and two wait", func() bool { return r.server.limits.gateByCredentials.Waiting("Bearer token-1") == 2 })
	res, text := r.send(http.MethodGet, "/v1/names/slug/a", as("token-1", ""), "")
	r.wantOverShare(res, text)
	// Another token of the same caller.
	res, text = r.send(http.MethodGet, "/v1/names/slug/a", as("token-2", ""), "")
	r.wantOverShare(res, text)
	if got := r.metric(`dibs_requests_limited_total{reason="share"}`); got != 2 {
		t.Errorf("%v were counted", got)
	}
	if res, text := r.send(http.MethodGet, "/v1/names/slug/a", as("modest", ""), ""); res.status != http.StatusNotFound {
		t.Errorf("another caller gets %d %s", res.status, text)
	}
	for _, conn := range conns { // all of them are answered
		if status, _, err := conn.ask(body); status != http.StatusCreated && status != http.StatusOK {
			t.Errorf("it is %d, %v", status, err)
		}
	}
}

// The same for streams.
func TestShareOfStreams(t *testing.T) {
	t.Parallel()
	r := shared(t)
	open := func(key string) (reply, string) {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.http.URL+"/v1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = as(key, "")
		req.Header.Set("Accept", "text/event-stream")
		res, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		text := make([]byte, 400)
		n, _ := res.Body.Read(text)
		return reply{res.StatusCode, res.Header}, string(text[:n])
	}
	for range 2 {
		if res, text := open("token-1"); res.status != http.StatusOK {
			t.Fatal(res.status, text)
		}
	}
	for _, token := range []string{"token-1", "token-2"} {
		res, text := open(token)
		r.wantOverShare(res, text)
	}
	if res, text := open("modest"); res.status != http.StatusOK {
		t.Errorf("another caller gets %d %s", res.status, text)
	}
}

// Anonymous requests, which may read pages, cannot use all slots by announcing bodies that never
// arrive.
func TestShareOfAnonymousRequests(t *testing.T) {
	t.Parallel()
	r := shared(t)
	for range 20 {
		conn := r.raw()
		if _, err := io.WriteString(conn, "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "anonymous requests are in flight", func() bool { return r.metric("dibs_requests_in_flight") > 0 })
	if res, text := r.send(http.MethodGet, "/v1/names/slug/a", as("modest", ""), ""); res.status != http.StatusNotFound {
		t.Errorf("a caller gets %d %s", res.status, text)
	}
	// Each would have its slot for an hour, if it waited for the body.
	eventually(t, "none of them is in flight any more", func() bool { return r.metric("dibs_requests_in_flight") == 0 })
}

// Few requests with large bodies are in flight at a time: they take memory.
func TestLargeBodiesAreFew(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil, func(c *Config) {
		c.Limits = limit.Limits{MaxInFlight: 32, MaxWaiting: 1, MaxWait: 50 * time.Millisecond}
	})
	for range 2 { // a sixteenth of 32
		conn := r.raw()
		if _, err := io.WriteString(conn, "POST /v1/reservations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "both are in flight", func() bool { return r.metric("dibs_requests_in_flight") == 2 })
	large := `{"namespace": "slug", "value": "a"` + strings.Repeat(" ", largeBody) + `}`
	res, text := r.send(http.MethodPost, "/v1/reservations", nil, large)
	r.wantShed(res, text)
	if res, text := r.send(http.MethodPost, "/v1/reservations", nil, `{"namespace": "slug", "value": "a"}`); res.status != http.StatusCreated {
		t.Errorf("a small one is %d %s", res.status, text)
	}
}

// A body with too large a Content-Length is refused at once.
func TestTooLongIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil, func(c *Config) { c.RequestTimeout = time.Hour }) // for a body that does not arrive
	status, _, err := r.raw().ask("POST /v1/reservations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n")
	if status != http.StatusRequestEntityTooLarge {
		t.Errorf("it is %d, %v", status, err)
	}
}
