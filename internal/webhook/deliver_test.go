package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/webhook"
)

// A receiver gets a signed CloudEvent with the event of the feed.
func TestDelivery(t *testing.T) {
	t.Parallel()
	r, receiver := newRig(t), newReceiver(t, nil)
	hook, secret := r.hook(receiver.URL)
	r.deliver()
	r.claim("acme.slug", "alice", "1")
	if _, err := r.registry.Archive(t.Context(), dibs.Archive{Scope: "acme", Entity: dibs.Entity{Type: "user", ID: "1"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both events arrive", func() bool { return len(receiver.got()) == 2 })
	for _, q := range receiver.got() {
		verifier, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(q.body, q.header); err != nil {
			t.Error(err)
		}
		if err := verifier.Verify(append(q.body, ' '), q.header); err == nil {
			t.Error("another body has the same signature")
		}
		if got := q.header.Get("Content-Type"); got != "application/cloudevents+json" {
			t.Errorf("the content type is %q", got)
		}
		if e := q.event; e.SpecVersion != "1.0" || e.Source != "urn:dibs" || e.DataContentType != "application/json" || !strings.HasPrefix(e.ID, "evt_") {
			t.Errorf("the envelope is %+v", e)
		}
		if _, err := time.Parse(time.RFC3339, q.event.Time); err != nil {
			t.Error(err)
		}
	}
	kinds := map[string]string{}
	for _, q := range receiver.got() {
		kinds[q.event.Type] = q.event.Subject
	}
	if kinds["dibs.name.claimed"] != "acme.slug:alice" || kinds["dibs.entity.archived"] != "user/1" {
		t.Errorf("types and subjects are %v", kinds)
	}
	eventually(t, "the status shows both", func() bool { s := r.status(hook); return s.Delivered == 2 && s.Behind == 0 })
	if s := r.status(hook); s.Waiting != 0 || s.OldestAt != "" || s.LastSuccess == "" || s.LastError != "" {
		t.Errorf("the status is %+v", s)
	}
	if strings.Contains(r.log.String(), secret) || strings.Contains(r.log.String(), receiver.URL) {
		t.Error("the log contains the secret or the address")
	}
}

// A receiver that fails and recovers gets all events, in order, with the same ids.
func TestReceiverRecovers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	receiver := newReceiver(t, always(http.StatusInternalServerError))
	hook, _ := r.hook(receiver.URL)
	r.deliver()
	for i := range 20 {
		r.life(fmt.Sprint("name", i), 4)
	}
	eventually(t, "the receiver counts as down", func() bool { return len(receiver.got()) >= webhook.FailuresUntilDown+3 })
	eventually(t, "the status shows the error", func() bool { return r.status(hook).LastError == "the receiver answered 500" })
	if s := r.status(hook); s.Behind != 100 || s.Delivered != 0 || s.OldestAt == "" {
		t.Errorf("while the receiver is down: %+v", s)
	}
	receiver.set(nil)
	eventually(t, "all events arrive", func() bool { return r.status(hook).Behind == 0 })
	checkOrder(t, receiver.accepted(), 100)
	if n := len(receiver.accepted()); n != 100 {
		t.Errorf("%d requests were accepted: some events were sent again", n)
	}
	ids := make(map[string]string)
	for _, q := range receiver.got() {
		id := q.header.Get("webhook-id")
		if was, ok := ids[q.event.ID]; ok && was != id {
			t.Errorf("an event was sent as %s and as %s", was, id)
		}
		ids[q.event.ID] = id
	}
	if s := r.status(hook); s.DeadLetters != 0 || s.Delivered != 100 || s.Failed == 0 || s.PausedUntil != "" {
		t.Errorf("after recovery: %+v", s)
	}
	if log := r.log.String(); !strings.Contains(log, "the receiver of a webhook fails") || !strings.Contains(log, "works again") {
		t.Error("the log does not report the failure and the recovery")
	}
}

// A receiver that is down gets one event at a time.
func TestDownReceiverIsNotHammered(t *testing.T) {
	t.Parallel()
	r := newRig(t, hourly)
	receiver := newReceiver(t, always(http.StatusBadGateway))
	hook, _ := r.hook(receiver.URL)
	for i := range 50 {
		r.claim("slug", fmt.Sprint("name", i), fmt.Sprint(i))
	}
	r.deliver()
	eventually(t, "deliveries pause", func() bool { return r.status(hook).PausedUntil != "" })
	// Others may have been in flight when it was found to be down.
	if n := len(receiver.got()); n < webhook.FailuresUntilDown || n > webhook.FailuresUntilDown+4 {
		t.Errorf("a receiver that is down got %d requests", n)
	}
	receiver.set(nil)
	r.change(hook, (*webhook.Hook).Enable)
	eventually(t, "all events arrive at once after Enable", func() bool { return len(receiver.accepted()) == 50 })
}

// A key that fails does not block others.
func TestOtherKeysContinue(t *testing.T) {
	t.Parallel()
	r := newRig(t, hourly)
	receiver := newReceiver(t, refuseOnly("poison", http.StatusBadRequest))
	hook, _ := r.hook(receiver.URL)
	r.life("poison", 2)
	r.deliver()
	eventually(t, "the delivery fails", func() bool { return r.status(hook).Failed > 0 })
	for i := range 10 {
		r.life(fmt.Sprint("good", i), 1)
	}
	eventually(t, "the other events arrive", func() bool { return len(receiver.accepted()) == 20 })
	eventually(t, "three events wait", func() bool { s := r.status(hook); return s.Waiting == 3 && s.Behind == 3 })
	if n := len(receiver.got()); n != 21 {
		t.Errorf("%d requests: events behind the failed one were sent", n)
	}
	// After restarts the same events wait, and no others are sent again.
	for range 3 {
		r.stop()
		r.deliver()
		saves := r.saves(hook)
		eventually(t, "the next process takes over", func() bool { return r.saves(hook) > saves })
	}
	if n := len(receiver.got()); n != 21 {
		t.Errorf("%d requests after restarts", n)
	}
	receiver.set(nil)
	r.change(hook, (*webhook.Hook).Enable)
	eventually(t, "the waiting events arrive", func() bool { return r.status(hook).Behind == 0 })
	checkOrder(t, receiver.accepted(), 23)
	if n := len(receiver.accepted()); n != 23 {
		t.Errorf("%d requests were accepted: some events were sent again", n)
	}
}

// When a receiver recovers, all waiting events are retried at once.
func TestRetryAfterRecovery(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *webhook.Config) {
		c.Concurrency, c.Pauses = 1, []time.Duration{20 * time.Millisecond, time.Hour}
	})
	receiver := newReceiver(t, always(http.StatusBadGateway))
	hook, _ := r.hook(receiver.URL)
	r.deliver()
	r.claim("slug", "a", "1")
	r.claim("slug", "b", "2")
	eventually(t, "both events have failed twice", func() bool { return len(receiver.got()) == 4 })
	answers := 0
	receiver.set(func(request) int { // fails once more, then works
		if answers++; answers == 1 {
			return http.StatusBadGateway
		}
		return http.StatusOK
	})
	r.claim("slug", "c", "3")
	eventually(t, "all events arrive", func() bool { return r.status(hook).Behind == 0 && len(receiver.accepted()) == 3 })
}

// Retry-After pauses all deliveries to the receiver.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	receiver := newReceiver(t, always(http.StatusTooManyRequests))
	receiver.header.Set("Retry-After", "1000000")
	hook, _ := r.hook(receiver.URL)
	r.claim("slug", "a", "1")
	r.deliver()
	eventually(t, "deliveries pause", func() bool { return r.status(hook).PausedUntil != "" })
	until, err := time.Parse(time.RFC3339Nano, r.status(hook).PausedUntil)
	if left := time.Until(until); err != nil || left > time.Hour || left < 55*time.Minute {
		t.Errorf("deliveries pause for %s, %v, want an hour", left, err)
	}
	if n := len(receiver.got()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// A receiver that answers 410 gets no requests until the webhook is enabled; no event is lost.
func TestGoneReceiver(t *testing.T) {
	t.Parallel()
	r, receiver := newRig(t), newReceiver(t, always(http.StatusGone))
	hook, _ := r.hook(receiver.URL)
	r.claim("slug", "a", "1")
	r.deliver()
	eventually(t, "the webhook is disabled", func() bool {
		now, err := r.service.Get(t.Context(), hook.ID)
		return err == nil && !now.Enabled && now.Stopped == "the receiver answered 410 Gone"
	})
	receiver.set(nil)
	if now := r.change(hook, (*webhook.Hook).Enable); now.Stopped != "" {
		t.Error(now.Stopped)
	}
	eventually(t, "the event arrives", func() bool { return len(receiver.accepted()) == 1 })
}

// Redirects are not followed.
func TestRedirect(t *testing.T) {
	t.Parallel()
	r, elsewhere, receiver := newRig(t), newReceiver(t, nil), newReceiver(t, always(http.StatusPermanentRedirect))
	receiver.header.Set("Location", elsewhere.URL)
	hook, _ := r.hook(receiver.URL)
	a := r.ping(hook)
	if a.Delivered() || a.Status != http.StatusPermanentRedirect || !strings.Contains(a.Error, "redirects are not followed") {
		t.Errorf("%+v", a)
	}
	if len(elsewhere.got()) > 0 {
		t.Error("the redirect was followed")
	}
}
