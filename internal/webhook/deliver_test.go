package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
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
		saves := r.saves(hook)
		r.deliver()
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

// One event that is never accepted does not block the events of other names, even if the
// receiver seems to be down because there are no others for a while.
func TestOneBadEventIsNotAReceiverThatIsDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	in := newReceiver(t, refuseOnly("bad", http.StatusInternalServerError))
	hook, _ := r.hook(in.URL)
	r.deliver()
	r.claim("slug", "bad", "1")
	eventually(t, "the receiver seems to be down", func() bool { return r.status(hook).Failed >= 2*webhook.FailuresUntilDown })
	r.claim("slug", "good", "2")
	eventually(t, "the other event is accepted", func() bool { return len(in.accepted()) == 1 })
}

// A value that was forgotten while its event waited is not sent.
func TestForgottenWhileWaiting(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	in := newReceiver(t, always(http.StatusServiceUnavailable))
	r.hook(in.URL)
	r.deliver()
	r.claim("slug", "secret-of-alice", "alice")
	r.claim("slug", "bobs", "bob")
	eventually(t, "deliveries fail", func() bool { return len(in.got()) >= 3 })
	_, err := r.registry.As(dibs.Principal{Rights: dibs.Operate}).Forget(context.Background(),
		dibs.ForgetRequest{Entity: dibs.Entity{Type: "user", ID: "alice"}})
	if err != nil {
		t.Fatal(err)
	}
	tried := len(in.got())
	eventually(t, "deliveries still fail", func() bool { return len(in.got()) >= tried+20 })
	in.set(nil)
	eventually(t, "the last event is accepted", func() bool {
		return slices.ContainsFunc(in.accepted(), func(q request) bool { return q.event.Data.Kind == string(dibs.EventForgotten) })
	})
	for _, q := range in.accepted() {
		if strings.Contains(string(q.body), "alice") {
			t.Errorf("a forgotten value was sent: %s", q.body)
		}
	}
}

// A webhook gets the events that it wants, and no others.
func TestFilter(t *testing.T) {
	t.Parallel()
	r, receiver := newRig(t), newReceiver(t, nil)
	hook, _ := r.hook(receiver.URL, func(h *webhook.Hook) {
		h.Namespaces, h.Kinds = []string{"acme.*", "email"}, []dibs.EventKind{dibs.EventClaimed, dibs.EventArchived}
	})
	r.deliver()
	r.claim("acme.slug", "a", "1")
	r.claim("globex.slug", "a", "1")
	r.claim("slug", "a", "1")
	r.claim("email", "a", "1")
	for _, scope := range []string{"acme", "globex", ""} {
		if _, err := r.registry.Archive(t.Context(), dibs.Archive{Scope: scope, Entity: dibs.Entity{Type: "user", ID: "1"}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.registry.Restore(t.Context(), dibs.Restore{Scope: "acme", Entity: dibs.Entity{Type: "user", ID: "1"}}); err != nil {
		t.Fatal(err)
	}
	r.claim("acme.last", "z", "2")
	eventually(t, "the last event arrives", func() bool { return len(receiver.got()) == 4 })
	var got []string
	for _, q := range receiver.got() {
		got = append(got, q.event.Type+" "+q.event.Subject)
	}
	for _, want := range []string{
		"dibs.name.claimed acme.slug:a", "dibs.name.claimed email:a", "dibs.entity.archived user/1", "dibs.name.claimed acme.last:z",
	} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("no %s among %v", want, got)
		}
	}
	eventually(t, "no event is left", func() bool { return r.status(hook).Behind == 0 })
}

// A replaced secret signs until its grace period ends.
func TestRotate(t *testing.T) {
	t.Parallel()
	r, receiver := newRig(t), newReceiver(t, nil)
	hook, old := r.hook(receiver.URL)
	hook, second, err := r.service.Rotate(t.Context(), hook.ID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	verifies := func(secret string) bool {
		t.Helper()
		r.ping(hook)
		verifier, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		got := receiver.got()
		return verifier.Verify(got[len(got)-1].body, got[len(got)-1].header) == nil
	}
	if !verifies(old) || !verifies(second) {
		t.Error("want signatures by both secrets")
	}
	hook, third, err := r.service.Rotate(t.Context(), hook.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !verifies(old) || verifies(second) || !verifies(third) {
		t.Error("want signatures by the first secret, which has an hour, and by the third, but not by the second")
	}
}

// A new webhook begins now, at the beginning or behind a cursor.
func TestStart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.claim("slug", "before", "1")
	page, err := r.registry.Events(t.Context(), dibs.FeedQuery{})
	if err != nil {
		t.Fatal(err)
	}
	r.claim("slug", "between", "2")
	want := map[string]int{"": 1, webhook.FromNow: 1, webhook.FromBeginning: 3, string(page.Next): 2}
	receivers, hooks := make(map[string]*receiver), make(map[string]*webhook.Hook)
	for from := range want {
		receivers[from] = newReceiver(t, nil)
		hook := webhook.Hook{URL: receivers[from].URL, Namespaces: []string{"*"}, Enabled: true}
		made, _, err := r.service.Create(t.Context(), hook, from)
		if err != nil {
			t.Fatal(from, err)
		}
		hooks[from] = made
	}
	r.claim("slug", "after", "3")
	r.deliver()
	for from, n := range want {
		eventually(t, "all events from "+from+" arrive", func() bool { return len(receivers[from].got()) == n && r.status(hooks[from]).Behind == 0 })
	}
}

// A webhook with too many failed events reads no more until one of them succeeds.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	const most = 10
	r := newRig(t, hourly, func(c *webhook.Config) {
		*c = c.WithLimits(webhook.Limits{Queued: most, Lease: quick.Lease, Poll: quick.Poll, Save: quick.Save})
	})
	receiver := newReceiver(t, func(q request) int {
		if strings.HasPrefix(q.event.Data.Canonical, "bad") {
			return http.StatusBadRequest
		}
		return http.StatusOK
	})
	hook, _ := r.hook(receiver.URL)
	r.deliver()
	for i := range most { // with successes between them, so that the receiver does not count as down
		r.claim("slug", fmt.Sprint("bad", i), fmt.Sprint("bad", i))
		r.claim("slug", fmt.Sprint("good", i), fmt.Sprint("good", i))
		eventually(t, "one event fails", func() bool { s := r.status(hook); return s.Failed == uint64(i+1) && s.Delivered >= uint64(i) })
	}
	// The last good event is not read either.
	r.life("late", 2)
	eventually(t, "the webhook reads no more", func() bool { s := r.status(hook); return s.Waiting == most && s.Behind == most+1+3 })
	before := len(receiver.got())
	receiver.set(nil)
	r.ping(hook)
	eventually(t, "the webhook continues", func() bool { return r.status(hook).Behind == 0 })
	checkOrder(t, receiver.accepted(), 2*most+3)
	if after := len(receiver.got()); after <= before {
		t.Errorf("%d requests before, %d after", before, after)
	}
}

// A change of the URL retries failed deliveries at once; one of the description does not.
func TestRetryAfterAChange(t *testing.T) {
	t.Parallel()
	r := newRig(t, hourly)
	broken, good := newReceiver(t, always(http.StatusInternalServerError)), newReceiver(t, nil)
	hook, _ := r.hook(broken.URL)
	r.claim("slug", "a", "1")
	r.deliver()
	eventually(t, "the delivery fails", func() bool { return r.status(hook).Failed == 1 })
	r.change(hook, func(h *webhook.Hook) { h.Description = "other" })
	r.change(hook, func(h *webhook.Hook) { h.URL = good.URL })
	eventually(t, "the event arrives at the other address", func() bool { return len(good.got()) == 1 })
	if n := len(broken.got()); n != 1 {
		t.Errorf("the first address was tried %d times", n)
	}
}

// A webhook that was narrowed no longer gets events that it does not want, not even failed ones.
func TestNarrowed(t *testing.T) {
	t.Parallel()
	r := newRig(t, hourly)
	receiver := newReceiver(t, always(http.StatusInternalServerError))
	hook, _ := r.hook(receiver.URL)
	r.claim("slug", "a", "1")
	r.claim("email", "b", "1")
	r.deliver()
	eventually(t, "both fail", func() bool { return r.status(hook).Failed == 2 })
	receiver.set(nil)
	r.change(hook, func(h *webhook.Hook) {
		h.Namespaces = []string{"email"}
		h.Enable()
	})
	eventually(t, "no event is left", func() bool { return r.status(hook).Waiting == 0 })
	if got := receiver.accepted(); len(got) != 1 || got[0].event.Subject != "email:b" {
		t.Errorf("the receiver accepted %d events, want one of email:b", len(got))
	}
}
