package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/webhook"
)

// testWebhooks returns the webhooks of a rig: they may send to this machine, and give up soon.
func testWebhooks(r *rig, metrics *Metrics) *webhook.Service {
	return webhook.New(webhook.Config{
		Registry: r.registry, Store: r.store, Timeout: 2 * time.Second, Source: "urn:dibs:test",
		Pauses: []time.Duration{5 * time.Millisecond}, GiveUpAfter: 20 * time.Millisecond,
		AllowPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Observer: metrics.WebhookObserver(),
	})
}

// deliver delivers for the webhooks of a rig, until the test ends.
func (r *rig) deliver() {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { r.server.cfg.Webhooks.Deliver(ctx) })
	r.beforeClose = func() {
		cancel()
		done.Wait()
	}
}

// receiver receives the events of webhooks.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	got    []string // bodies
}

func newReceiver(tb testing.TB) *receiver {
	r := &receiver{status: http.StatusOK}
	r.Server = httptest.NewServer(r)
	tb.Cleanup(r.Close)
	return r
}

// ServeHTTP records a request.
func (r *receiver) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	body, _ := io.ReadAll(hr.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, string(body))
	w.WriteHeader(r.status)
}

func (r *receiver) bodies() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.got...)
}

// receive runs a line of a script about a receiver:
//
//	shop answers 500   from now on; {{shop}} is its address
//	shop gets 2        so many requests so far
//	shop never TEXT    none of them had this text
func (p *player) receive(command string) error {
	name, rest, _ := strings.Cut(command, " ")
	verb, what, _ := strings.Cut(rest, " ")
	r := p.receivers[name]
	if r == nil {
		r = newReceiver(p)
		p.receivers[name], p.captured[name] = r, r.URL
	}
	switch n, err := strconv.Atoi(what); {
	case verb == "never":
		return lacks("a delivery", strings.Join(r.bodies(), "\n"), what)
	case err != nil:
		return err
	case verb == "answers":
		r.mu.Lock()
		defer r.mu.Unlock()
		r.status = n
	case verb == "gets":
		eventually(p, rest, func() bool { return len(r.bodies()) >= n })
		if got := len(r.bodies()); got != n {
			return fmt.Errorf("it got %d", got)
		}
	default:
		return fmt.Errorf("a receiver does not %q", verb)
	}
	return nil
}
