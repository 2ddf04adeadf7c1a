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

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/webhook"
)

// A server without webhooks says so.
func TestNoWebhooks(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil, func(c *Config) { c.Webhooks = nil })
	for _, path := range []string{"/v1/webhooks", "/v1/webhooks/wh_any", "/v1/webhooks/wh_any/deadletters"} {
		if res, text := r.send(http.MethodGet, path, nil, ""); res.status != http.StatusForbidden || !strings.Contains(text, "NO_WEBHOOKS") {
			t.Errorf("%s: %d %s", path, res.status, text)
		}
	}
}

// Metrics count what webhooks do; the log has no secrets.
func TestWebhookMetrics(t *testing.T) {
	t.Parallel()
	r, receiver := newRig(t, inMemory, nil), newReceiver(t)
	r.deliver()
	hook, secret, err := r.server.cfg.Webhooks.Create(t.Context(), webhook.Hook{URL: receiver.URL, Namespaces: []string{"*"}, Enabled: true}, "")
	if err != nil {
		t.Fatal(err)
	}
	claim := func(n int) {
		t.Helper()
		body := fmt.Sprintf(`{"namespace": "slug", "value": "name%d", "entity": {"type": "t", "id": "%d"}}`, n, n)
		if res, text := r.send(http.MethodPost, "/v1/claims", nil, body); res.status != http.StatusCreated {
			t.Fatal(text)
		}
	}
	metric := func(name, more string) float64 { return r.metric(fmt.Sprintf("%s{%swebhook=%q}", name, more, hook.ID)) }
	claim(1)
	eventually(t, "it is delivered", func() bool { return metric("dibs_webhook_deliveries_total", `outcome="delivered",`) == 1 })
	receiver.mu.Lock()
	receiver.status = http.StatusInternalServerError
	receiver.mu.Unlock()
	claim(2)
	eventually(t, "it is a dead letter", func() bool { return metric("dibs_webhook_dead_letters_total", "") == 1 })
	if metric("dibs_webhook_deliveries_total", `outcome="failed",`) == 0 {
		t.Error("no failure is counted")
	}
	eventually(t, "nothing waits", func() bool {
		families := r.metrics()
		return families["dibs_webhook_lag_seconds"] != nil && metric("dibs_webhook_waiting", "") == 0 && metric("dibs_webhook_lag_seconds", "") == 0
	})
	if strings.Contains(r.log.String(), secret) || strings.Contains(r.log.String(), receiver.URL) {
		t.Error("the log has the secret, or the address")
	}
	if err := r.server.cfg.Webhooks.Remove(t.Context(), hook.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its metrics are removed", func() bool {
		_, text := r.send(http.MethodGet, "/metrics", nil, "")
		return !strings.Contains(text, hook.ID)
	})
}

// After a webhook is restricted to fewer namespaces, callers do not see its earlier dead letters
// of other namespaces: they may have no rights there.
func TestDeadLettersOfRemovedNamespaces(t *testing.T) {
	t.Parallel()
	callers := map[string]access.Caller{
		"key-all":  {Name: "all", Grants: access.Everything.Grants},
		"key-slug": {Name: "slug", Grants: []access.Grant{{Verbs: []access.Verb{access.Webhooks, access.Events}, Namespaces: []string{"slug"}}}},
	}
	r, receiver := newRig(t, inMemory, callers), newReceiver(t)
	receiver.status = http.StatusInternalServerError
	r.deliver()
	send := func(key, method, path, body string) (int, string) {
		t.Helper()
		res, text := r.send(method, path, http.Header{"Authorization": {"Bearer " + key}}, body)
		return res.status, text
	}
	hook, _, err := r.server.cfg.Webhooks.Create(t.Context(), webhook.Hook{URL: receiver.URL, Namespaces: []string{"*"}, Enabled: true}, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, namespace := range []string{"plain", "slug"} {
		body := fmt.Sprintf(`{"namespace": %q, "value": "theirs%d", "entity": {"type": "t", "id": "%d"}}`, namespace, i, i)
		if status, text := send("key-all", http.MethodPost, "/v1/claims", body); status != http.StatusCreated {
			t.Fatal(text)
		}
	}
	letters := webhooksPath + "/" + hook.ID + "/deadletters"
	eventually(t, "both are given up", func() bool {
		_, text := send("key-all", http.MethodGet, letters, "")
		return strings.Count(text, `"dl_`) == 2
	})
	if status, text := send("key-all", http.MethodPatch, webhooksPath+"/"+hook.ID, `{"namespaces": ["slug"]}`); status != http.StatusOK {
		t.Fatal(text)
	}
	status, text := send("key-slug", http.MethodGet, letters, "")
	if status != http.StatusOK || strings.Count(text, `"dl_`) != 1 || strings.Contains(text, "plain") {
		t.Errorf("%d %s", status, text)
	}
	shown := 0
	for _, id := range []string{"dl_000000000001", "dl_000000000002"} {
		if status, text := send("key-slug", http.MethodGet, letters+"/"+id, ""); status == http.StatusOK {
			shown++
		} else if status != http.StatusNotFound || strings.Contains(text, "plain") {
			t.Errorf("%s: %d %s", id, status, text)
		}
	}
	if shown != 1 {
		t.Errorf("%d are shown", shown)
	}
	receiver.mu.Lock()
	receiver.status, receiver.got = http.StatusOK, nil
	receiver.mu.Unlock()
	if status, text := send("key-slug", http.MethodPost, letters+"/resend", ""); status != http.StatusOK || !strings.Contains(text, `"delivered":1`) {
		t.Errorf("%d %s", status, text)
	}
	if got := receiver.bodies(); len(got) != 1 || strings.Contains(got[0], "plain") {
		t.Errorf("it got %s", got)
	}
}

// Patterns returns the patterns in which a caller has all of the given rights.
func TestPatternsOfACaller(t *testing.T) {
	t.Parallel()
	caller := access.Caller{Grants: []access.Grant{
		{Verbs: []access.Verb{access.Webhooks}, Namespaces: []string{"acme.*", "slug"}},
		{Verbs: []access.Verb{access.Watch}, Namespaces: []string{"acme.eu.*", "slug", "email"}},
	}}
	got := caller.Patterns(access.Webhooks, access.Events)
	if fmt.Sprint(got) != "[slug acme.eu.*]" {
		t.Errorf("they are %v", got)
	}
}

// testWebhooks returns the webhooks of a rig: they may send to this machine, and give up soon.
func testWebhooks(r *rig, metrics *Metrics) *webhook.Service {
	return webhook.New(webhook.Config{
		Registry: r.registry, Store: r.store, Timeout: patience, Source: "urn:dibs:test",
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
