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
