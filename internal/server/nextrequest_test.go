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
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/limit"
	"github.com/calldibs/dibs/memstore"
)

// hanging is a store that blocks on one name until letGo is closed.
type hanging struct {
	dibs.Store
	letGo chan struct{}
}

var hangs = dibs.NameID("slug", "hangs")

func (h hanging) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	for _, ref := range refs {
		if ref.ID == hangs {
			select {
			case <-ctx.Done():
				<-time.After(50 * time.Millisecond) // an engine notices with a delay
				return dibs.LoadResult{}, ctx.Err()
			case <-h.letGo:
			}
		}
	}
	return h.Store.Load(ctx, refs)
}

// raw is a client's connection.
type raw struct {
	net.Conn
	reader *bufio.Reader
}

func (r *rig) raw() *raw {
	conn := dial(r)
	return &raw{conn, bufio.NewReader(conn)}
}

func (c *raw) ask(request string) (status int, closes bool, err error) {
	go func() { _, _ = io.WriteString(c, request) }() // the server may answer before it has read everything
	res, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Close, err
}

const (
	asGood  = "Authorization: Bearer good\r\n"
	healthy = "GET /v1/names/slug/none HTTP/1.1\r\nHost: x\r\n" + asGood + "\r\n" // 404
)

func post(path, header, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", path, len(body), header, body)
}

// After any kind of response, the next request on the connection is answered as on a new one, or
// the response announces that the connection is closed.
func TestNextRequestOfAConnection(t *testing.T) {
	t.Parallel()
	reserve := `{"namespace": "slug", "value": "a", "ttlMs": 60000}`
	for name, c := range map[string]struct {
		request string
		want    int
		change  func(*Config)
	}{
		"done":                    {post("/v1/reservations", asGood, reserve), 201, nil},
		"refused":                 {post("/v1/reservations", asGood, `{"namespace": "slug"}`), 422, nil},
		"not found":               {healthy, 404, nil},
		"no such path":            {"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", 404, nil},
		"no such method":          {"DELETE /v1/reservations HTTP/1.1\r\nHost: x\r\n\r\n", 405, nil},
		"timed out, a question":   {"GET /v1/names/slug/hangs HTTP/1.1\r\nHost: x\r\n" + asGood + "\r\n", 503, nil},
		"timed out, a command":    {post("/v1/reservations", asGood, `{"namespace": "slug", "value": "hangs"}`), 503, nil},
		"body unread":             {post("/v1/entities/t/1/archive", asGood, "{}"), 404, nil},
		"timed out, body missing": {"POST /v1/reservations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n" + asGood + "\r\n", 408, nil},
		"no key":                  {post("/v1/reservations", "", reserve), 401, nil},
		"wrong key":               {post("/v1/reservations", "Authorization: Bearer bad\r\n", reserve), 401, nil},
		"no right":                {post("/v1/reservations", "Authorization: Bearer reader\r\n", reserve), 403, nil},
		"not JSON":                {strings.Replace(post("/v1/reservations", asGood, reserve), "application/json", "text/plain", 1), 415, nil},
		"too large":               {post("/v1/reservations", asGood, strings.Repeat(" ", 300<<10)), 413, func(c *Config) { c.MaxBody = 1000 }},
		"cross origin":            {post("/v1/reservations", asGood+"Sec-Fetch-Site: cross-site\r\n", reserve), 403, nil},
		"cut": {post("/v1/reservations", asGood, reserve), 500, func(c *Config) {
			inner := c.Authenticate
			panicked := false
			c.Authenticate = func(ctx context.Context, key string) (access.Caller, error) {
				if !panicked {
					panicked = true
					panic("once")
				}
				return inner(ctx, key)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				all := []access.Grant{{Verbs: verbs(access.All), Namespaces: []string{"*"}}}
				cfg := Config{Authenticate: authenticator(map[string]access.Caller{
					"good":   {Name: "good", Grants: all},
					"reader": {Name: "reader", Grants: []access.Grant{{Verbs: verbs(access.Read), Namespaces: []string{"*"}}}},
				})}
				if c.change != nil {
					c.change(&cfg)
				}
				letGo, listener := make(chan struct{}), newPipes()
				server := serveStages(t, hanging{memstore.New(memstore.Config{}), letGo}, listener, cfg)
				t.Cleanup(func() { close(letGo) })
				client, _ := listener.dial()
				t.Cleanup(func() { _ = client.Close() })
				if err := checkNext(&raw{client, bufio.NewReader(client)}, c.request, c.want, server.cfg.RequestTimeout); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// The same for a request over a limit. It takes real time: the counts of callers have goroutines of their own.
func TestNextRequestAfterALimit(t *testing.T) {
	t.Parallel()
	withTimeouts(t, time.Second, func(timeout time.Duration) error {
		r := newRig(t, inMemory, people("good"), func(c *Config) { c.Limits.Writes, c.RequestTimeout = perHour(1), timeout })
		conn, request := r.raw(), post("/v1/reservations/batch", asGood, `{"reservations": [{"namespace": "slug", "value": "a"}]}`)
		if status, _, err := conn.ask(request); status != http.StatusCreated && status != http.StatusServiceUnavailable { // that has counted, too
			return wrongAnswer("the first request", status, err)
		}
		return checkNext(conn, request, http.StatusTooManyRequests, timeout)
	})
}

// checkNext sends a request that has this response, and then others.
func checkNext(conn *raw, request string, want int, timeout time.Duration) error {
	status, closes, err := conn.ask(request)
	if status != want || err != nil {
		return wrongAnswer("it", status, err)
	}
	if closes {
		if _, err := conn.reader.ReadByte(); err == nil {
			return errors.New("the connection stays open")
		}
		return nil
	}
	for range 2 {
		if status, _, err := conn.ask(healthy); status != http.StatusNotFound {
			return wrongAnswer("the next request", status, err)
		}
		time.Sleep(timeout) // no old deadline is left
	}
	if status, _, err := conn.ask(healthy); status != http.StatusNotFound {
		return wrongAnswer("the last request", status, err)
	}
	return nil
}

// Every call answers a request whose body never arrives, and closes the connection.
func TestBodiesThatNeverArrive(t *testing.T) {
	t.Parallel()
	withTimeouts(t, 2*time.Second, func(timeout time.Duration) error {
		return bodiesNeverArrive(newRig(t, inMemory, map[string]access.Caller{"good": {Name: "good", Grants: access.Everything.Grants}}, func(c *Config) {
			c.RequestTimeout = timeout
		}))
	})
}

func bodiesNeverArrive(r *rig) error {
	var each sync.WaitGroup
	var mu sync.Mutex
	var wrong []error
	for _, c := range calls {
		for _, key := range []string{"", asGood} {
			for _, length := range []string{"Content-Length: 1\r\n", "Transfer-Encoding: chunked\r\n"} {
				method, path, _ := strings.Cut(c.request, " ")
				if key != "" && strings.Contains(path, "HOOK") || strings.Contains(path, "LAST") {
					continue
				}
				path = strings.NewReplacer("ID", someID, "HOOK", "none").Replace(path)
				each.Go(func() {
					err := bodyNeverArrives(r.raw(), method+" "+path+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+length+key+"\r\n", key)
					if err != nil {
						mu.Lock()
						defer mu.Unlock()
						wrong = append(wrong, fmt.Errorf("%s with %s: %w", c.request, strings.TrimSpace(length), err))
					}
				})
			}
		}
	}
	each.Wait()
	return errors.Join(wrong...)
}

func bodyNeverArrives(conn *raw, request, key string) error {
	status, _, err := conn.ask(request)
	if err != nil || key == "" && status != http.StatusUnauthorized {
		return wrongAnswer("it", status, err)
	}
	if _, err := conn.reader.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the connection stays: %v", err)
	}
	return nil
}

// Connections over the limit, none of which sends its body, do not keep out other callers.
func TestConnectionsThatNeverEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil, func(c *Config) {
		c.Authenticate = func(_ context.Context, key string) (access.Caller, error) {
			if key == "" {
				return access.Caller{}, auth.ErrUnknownKey
			}
			return access.Everything, nil
		}
		c.Limits = limit.Limits{MaxConnections: 40}
	})
	address := r.listen(Timeouts{Drain: time.Second})
	for i := range 70 {
		path := []string{sweepPath, forgetPath, recanonicalizePath}[i%3]
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "another caller is served", func() bool {
		client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		req, _ := http.NewRequest(http.MethodGet, "http://"+address+"/v1/names/slug/a", nil)
		req.Header.Set("Authorization", "Bearer good")
		res, err := client.Do(req)
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusNotFound
	})
}
