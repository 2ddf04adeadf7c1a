package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/authtest"
)

// A panic is answered with a problem without details, and the server goes on.
func TestPanic(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil, func(c *Config) {
		c.Authenticate = func(_ context.Context, key string) (access.Caller, error) {
			if key == "panic" {
				panic("sesame in hand")
			}
			return access.Everything, nil
		}
	})
	res, text := r.send(http.MethodGet, "/v1/names/slug/secret-value", http.Header{"Authorization": {"Bearer panic"}}, "")
	if res.status != http.StatusInternalServerError || res.header.Get("Content-Type") != problemType || !strings.Contains(text, `"code":"INTERNAL"`) {
		t.Errorf("the answer is %d %s", res.status, text)
	}
	for _, leak := range []string{"sesame", "goroutine", ".go", "secret-value"} {
		if strings.Contains(text, leak) {
			t.Errorf("the response contains %q: %s", leak, text)
		}
	}
	log := r.log.String()
	if !strings.Contains(log, "sesame in hand") || !strings.Contains(log, "goroutine") || strings.Contains(log, "secret-value") {
		t.Errorf("the log says %s", log)
	}
	if res, _ := r.send(http.MethodGet, "/v1/names/slug/a", http.Header{"Authorization": {"Bearer good"}}, ""); res.status != http.StatusNotFound {
		t.Errorf("afterwards it answers %d", res.status)
	}
	eventually(t, "the panic is counted", func() bool {
		return r.metric(`dibs_http_requests_total{route="GET /v1/names/{namespace}/{value}",status="500"}`) == 1
	})
}

func TestTooMuch(t *testing.T) {
	t.Parallel()
	const most = 1000
	r := newRig(t, inMemory, nil, func(c *Config) { c.MaxBody = most })
	doc := readDocument(r)
	body := func(size int) string {
		head, tail := `{"namespace": "slug", "value": "a", "correlationId": "`, `"}`
		return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
	}
	for _, c := range []struct {
		name, body string
		header     http.Header
		want       int
	}{
		{"body under the limit, but a member over its own", body(most - 1), nil, http.StatusUnprocessableEntity},
		{"body over the limit", body(most), nil, http.StatusRequestEntityTooLarge},
		{"body far over the limit", body(100 * most), nil, http.StatusRequestEntityTooLarge},
		{"a token of 500 KiB", `{"namespace": "slug", "value": "a"}`, http.Header{"Idempotency-Key": {strings.Repeat("x", 500<<10)}}, http.StatusUnprocessableEntity},
	} {
		res, text := r.send(http.MethodPost, "/v1/reservations", c.header, c.body)
		if res.status != c.want {
			t.Errorf("%s: %d, want %d: %s", c.name, res.status, c.want, text)
		}
		doc.checkAnswer(t, "POST /v1/reservations", res, text)
	}
	// A body without a Content-Length.
	req, err := http.NewRequest(http.MethodPost, r.http.URL+"/v1/reservations", io.MultiReader(strings.NewReader(body(most)), strings.NewReader(" ")))
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a chunked body over the limit is %d", res.StatusCode)
	}
}

// A header of more than a megabyte is refused.
func TestHugeHeader(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil)
	conn := dial(r)
	go func() {
		_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("x", 1<<20+1<<16)+"\r\n\r\n")
	}()
	if status := readStatus(r, conn); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("it is %d", status)
	}
}

// The server does not wait for a missing body, and closes the connection.
func TestHalfSentBody(t *testing.T) {
	t.Parallel()
	withTimeouts(t, 300*time.Millisecond, func(timeout time.Duration) error {
		r := newRig(t, inMemory, nil, func(c *Config) { c.RequestTimeout = timeout })
		conn := r.raw()
		res, text, err := halfSent(conn, "POST /v1/reservations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"names")
		if err != nil {
			return err
		}
		doc := readDocument(newRig(t, inMemory, nil)) // of a server with the usual timeout
		doc.checkAnswer(t, "POST /v1/reservations", res, text)
		if _, err := conn.reader.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("the connection was not closed: %v", err)
		}
		return nil
	})
}

// withTimeouts tries a case with longer and longer timeouts of requests until it succeeds: on a busy machine an answer may miss the
// deadline that a short timeout sets for it, and then its connection ends. Any other error is one at once.
func withTimeouts(t *testing.T, first time.Duration, try func(timeout time.Duration) error) {
	t.Helper()
	for timeout := first; ; timeout *= 4 {
		err := try(timeout)
		if err == nil {
			return
		}
		isCutOff := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
		if !isCutOff || 4*timeout > patience {
			t.Fatalf("with a timeout of %v: %v", timeout, err)
		}
		t.Logf("with a timeout of %v: %v", timeout, err)
	}
}

// wrongAnswer is the error of a request whose answer is missing, or has another status than expected.
func wrongAnswer(what string, status int, err error) error {
	if err == nil {
		return fmt.Errorf("%s is %d", what, status)
	}
	return fmt.Errorf("%s is %d: %w", what, status, err)
}

// halfSent sends a request without the end of its body, and returns the answer, which must be 408.
func halfSent(conn *raw, request string) (reply, string, error) {
	if _, err := io.WriteString(conn, request); err != nil {
		return reply{}, "", err
	}
	res, err := http.ReadResponse(conn.reader, nil)
	if err != nil {
		return reply{}, "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusRequestTimeout {
		err = fmt.Errorf("it is %d: %s", res.StatusCode, text)
	}
	return reply{res.StatusCode, res.Header}, string(text), err
}

// A client that disconnects does not harm others, and is not logged as a failure.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil)
	for i := range 20 {
		conn := dial(r)
		body := fmt.Sprintf(`{"namespace": "slug", "value": "gone%d"}`, i)
		request := fmt.Sprintf("POST /v1/reservations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		if _, err := io.WriteString(conn, request[:len(request)-i*2]); err != nil { // from all of it to almost nothing
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r.reserve("slug", "still-here")
	eventually(t, "disconnects within the body are counted", func() bool {
		return r.metric(`dibs_http_requests_total{route="POST /v1/reservations",status="400"}`) > 0
	})
	if log := r.log.String(); strings.Contains(log, `"level":"WARN"`) || strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("the log has a warning: %s", log)
	}
}

// A draining server says so on /readyz, and finishes the requests in flight.
func TestDrain(t *testing.T) {
	t.Parallel()
	entered, proceed := make(chan struct{}), make(chan struct{})
	r := newRig(t, onSQLite, nil, func(c *Config) {
		c.Authenticate = func(_ context.Context, key string) (access.Caller, error) {
			if key == "slow" {
				close(entered)
				<-proceed
			}
			return access.Everything, nil
		}
	})
	answered := make(chan int)
	go func() {
		header := http.Header{"Authorization": {"Bearer slow"}}
		res, _ := r.send(http.MethodPost, "/v1/reservations", header, `{"namespace": "slug", "value": "a"}`)
		answered <- res.status
	}()
	<-entered
	r.server.Drain()
	res, text := r.send(http.MethodGet, "/readyz", nil, "")
	if res.status != http.StatusServiceUnavailable || res.header.Get("Retry-After") == "" || !strings.Contains(text, `"code":"UNAVAILABLE"`) {
		t.Errorf("/readyz is %d %s", res.status, text)
	}
	if res, _ := r.send(http.MethodGet, "/healthz", nil, ""); res.status != http.StatusOK {
		t.Errorf("/healthz is %d", res.status)
	}
	down := make(chan error)
	go func() { down <- r.http.Config.Shutdown(context.Background()) }()
	select {
	case <-down:
		t.Error("it stopped with a request in flight")
	case <-time.After(20 * time.Millisecond):
	}
	close(proceed)
	if status := <-answered; status != http.StatusCreated {
		t.Errorf("the request in flight is %d", status)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
}

func dial(r *rig) net.Conn {
	r.Helper()
	conn, err := net.Dial("tcp", r.http.Listener.Addr().String())
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		r.Fatal(err)
	}
	return conn
}

func readStatus(r *rig, conn net.Conn) int {
	r.Helper()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		r.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// A body that is not UTF-8 is refused: the decoder would change it.
func TestNotUTF8(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil)
	res, text := r.send(http.MethodPost, "/v1/reservations", nil, "{\"namespace\": \"any\", \"value\": \"a\xffb\"}")
	if res.status != http.StatusBadRequest {
		t.Errorf("it is %d: %s", res.status, text)
	}
}

// A body with a duplicate member is refused: the schema and the decoder would use different ones.
func TestDuplicateMembers(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil)
	for path, body := range map[string]string{
		"/v1/reservations": `{"namespace": "any", "value": "a", "value": "b"}`,
		"/v1/apply":        `{"commands": [{"op": "reserve", "namespace": "any", "value": "a", "meta": {"k": "v"}}], "commands": [{"op": "reserve", "namespace": "any", "value": "c"}]}`,
		"/v1/check":        `{"namespace": "any", "values": ["a"], "\u0076alues": ["b"]}`,
	} {
		res, text := r.send(http.MethodPost, path, nil, body)
		if res.status != http.StatusBadRequest || !strings.Contains(text, "duplicate") {
			t.Errorf("%s is %d: %s", path, res.status, text)
		}
	}
}

// A server that cannot read its keys answers 503, not 401.
func TestKeysUnavailable(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil, func(c *Config) {
		c.Authenticate = func(context.Context, string) (access.Caller, error) {
			return access.Caller{}, dibs.Unavailable(context.DeadlineExceeded)
		}
	})
	for _, path := range []string{"/v1/names/slug/a", "/metrics"} {
		res, text := r.send(http.MethodGet, path, http.Header{"Authorization": {"Bearer some"}}, "")
		if res.status != http.StatusServiceUnavailable || res.header.Get("Retry-After") == "" || !strings.Contains(text, `"code":"UNAVAILABLE"`) {
			t.Errorf("%s is %d %s", path, res.status, text)
		}
	}
	if got := r.denied(); got != 0 {
		t.Errorf("%v were denied", got)
	}
}

// lines returns the number of log lines at the default level.
func (r *rig) lines() int {
	return strings.Count(r.log.String(), "\n") - strings.Count(r.log.String(), `"level":"DEBUG"`)
}

// While a dependency of the server is down, anonymous requests do not flood the log: it has the
// outage, not each request.
func TestAnonymousRequestsDoNotFloodTheLog(t *testing.T) {
	t.Parallel()
	const requests, few = 300, 10
	for what, c := range map[string]struct {
		fail   func(g *signInRig)
		path   string
		secret func(g *signInRig, i int) string
	}{
		"made-up tokens of an issuer that is down": {
			func(g *signInRig) { g.issuer.Down.Store(true) }, "/v1/check/slug/a",
			func(g *signInRig, i int) string {
				return g.issuer.Token(g, fmt.Sprint("stranger-", i), authtest.Claims{}) + "x"
			},
		},
		"made-up keys while the engine is down": {
			func(g *signInRig) { g.store.mode.Store(outOfReach) }, "/v1/check/slug/a",
			func(g *signInRig, i int) string {
				known := g.secrets["key alice"]
				return known[:len(known)-2] + string(rune('a'+i/26)) + string(rune('a'+i%26))
			},
		},
		"pings of an engine that is down": {
			func(g *signInRig) { g.store.mode.Store(outOfReach) }, "/readyz",
			func(*signInRig, int) string { return "" },
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			g := newSignInRig(t, visitors{"alice": {{Verbs: verbs(access.Read), Namespaces: []string{"*"}}}})
			seen, _ := g.as("key", "alice")
			c.fail(g)
			before, unavailable := g.lines(), 0
			for i := range requests {
				header := make(http.Header)
				if secret := c.secret(g, i); secret != "" {
					header.Set("Authorization", "Bearer "+secret)
				}
				if res, _ := seen.send(http.MethodGet, c.path, header, ""); res.status == http.StatusServiceUnavailable {
					unavailable++
				}
			}
			g.store.mode.Store(works)
			if unavailable != requests {
				t.Errorf("%d of %d are unavailable", unavailable, requests)
			}
			if n := g.lines() - before; n == 0 || n > few {
				t.Errorf("%d lines for %d requests, want 1 to %d:\n%.2000s", n, requests, few, g.log.String())
			}
		})
	}
}

// Of many clients that reserve one name at the same time exactly one gets it.
func TestStampede(t *testing.T) {
	t.Parallel()
	sizes := []int{100, 1000}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, e, nil)
			for _, clients := range sizes {
				stampede(r, clients)
			}
		})
	}
}

func stampede(r *rig, clients int) {
	r.Helper()
	var (
		ready    sync.WaitGroup
		gone     sync.WaitGroup
		start    = make(chan struct{})
		statuses = make([]int, clients)
		took     = make([]time.Duration, clients)
		body     = fmt.Sprintf(`{"namespace": "slug", "value": "the one of %d"}`, clients)
	)
	ready.Add(clients)
	for i := range clients {
		gone.Go(func() {
			ready.Done()
			<-start
			began := time.Now()
			res, err := r.client.Post(r.http.URL+"/v1/reservations", "application/json", strings.NewReader(body))
			if err != nil {
				r.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			statuses[i], took[i] = res.StatusCode, time.Since(began)
		})
	}
	ready.Wait()
	close(start)
	gone.Wait()
	count := make(map[int]int)
	for _, s := range statuses {
		count[s]++
	}
	if count[http.StatusCreated] != 1 || count[http.StatusConflict] != clients-1 {
		r.Errorf("of %d clients: %v by status, want one 201 and otherwise 409", clients, count)
	}
	slices.Sort(took)
	r.Logf("%d clients at once: p50 %v, p99 %v", clients, took[clients/2].Round(time.Millisecond), took[clients*99/100].Round(time.Millisecond))
}
