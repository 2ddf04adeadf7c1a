package webhook_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/webhook"
	"github.com/calldibs/dibs/memstore"
)

// impatient gives up at the first failure.
func impatient(c *webhook.Config) { c.GiveUpAfter = time.Nanosecond }

// An event that is given up becomes a dead letter and can be resent; the next event of its key
// is delivered.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) dibs.Store{"memory": openMemory, "sqlite": openSQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rigOn(t, open(t), impatient)
			poison := func(q request) int {
				if q.event.Data.Canonical == "poison" && q.event.Data.Revision == 1 {
					return http.StatusUnprocessableEntity
				}
				return http.StatusOK
			}
			receiver := newReceiver(t, poison)
			hook, _ := r.hook(receiver.URL)
			r.life("poison", 1)
			r.deliver()
			eventually(t, "the next event of the key is accepted", func() bool { return len(receiver.accepted()) == 1 })
			eventually(t, "the event is a dead letter", func() bool { s := r.status(hook); return s.DeadLetters == 1 && s.Behind == 0 })
			letters, err := r.service.DeadLetters(t.Context(), hook.ID, "", 10)
			if err != nil || len(letters) != 1 {
				t.Fatal(letters, err)
			}
			letter, event, err := r.service.DeadLetter(t.Context(), hook, letters[0].ID)
			if err != nil || event == nil || event.Key() != "slug:poison" || letter.Attempts != 1 || letter.Kind != dibs.EventClaimed ||
				letter.Where != "slug" || letter.Name != event.ID || letter.LastError != "the receiver answered 422" {
				t.Fatalf("%+v, %+v, %v", letter, event, err)
			}
			a, err := r.service.Resend(t.Context(), hook, letter.ID)
			if err != nil || a.Delivered() || a.Status != http.StatusUnprocessableEntity {
				t.Errorf("%+v, %v", a, err)
			}
			receiver.set(nil)
			if a, err = r.service.Resend(t.Context(), hook, letter.ID); err != nil || !a.Delivered() {
				t.Errorf("%+v, %v", a, err)
			}
			if _, err = r.service.Resend(t.Context(), hook, letter.ID); !errors.Is(err, webhook.ErrNoDeadLetter) {
				t.Errorf("resent twice: %v", err)
			}
			got := receiver.got()
			if got[0].header.Get("webhook-id") != got[len(got)-1].header.Get("webhook-id") {
				t.Error("it was resent with another id")
			}
			if s := r.status(hook); s.DeadLetters != 0 {
				t.Errorf("%+v", s)
			}
			if strings.Contains(r.log.String(), "poison") {
				t.Error("the log contains the name")
			}
		})
	}
}

// ResendAll resends until one fails. Only so many dead letters are kept.
func TestResendAll(t *testing.T) {
	t.Parallel()
	const kept = 5
	r := newRig(t, impatient, func(c *webhook.Config) {
		*c = c.WithLimits(webhook.Limits{DeadLetters: kept, Lease: quick.Lease, Poll: quick.Poll, Save: quick.Save})
	})
	receiver := newReceiver(t, always(http.StatusInternalServerError))
	hook, _ := r.hook(receiver.URL)
	for i := range kept + 3 {
		r.claim("slug", fmt.Sprint("name", i), fmt.Sprint(i))
	}
	r.deliver()
	eventually(t, "all events are dead letters", func() bool { s := r.status(hook); return s.DeadLetters == kept && s.Dropped == 3 && s.Behind == 0 })
	all, err := r.service.ResendAll(t.Context(), hook)
	if err != nil || all.Delivered != 0 || all.Failed == nil || all.Left != kept {
		t.Errorf("while the receiver fails: %+v, %v", all, err)
	}
	receiver.set(nil)
	if all, err = r.service.ResendAll(t.Context(), hook); err != nil || all.Delivered != kept || all.Failed != nil || all.Left != 0 {
		t.Errorf("after recovery: %+v, %v", all, err)
	}
	checkOrder(t, receiver.accepted(), kept)
	if all, err = r.service.ResendAll(t.Context(), hook); err != nil || all.Delivered != 0 {
		t.Errorf("without dead letters: %+v, %v", all, err)
	}
}

// A dead letter has no copy of its event, which may be purged from the feed.
func TestDeadLetterOfAPurgedEvent(t *testing.T) {
	t.Parallel()
	var later atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	r := rigOn(t, memstore.New(memstore.Config{Now: clock}), impatient)
	receiver := newReceiver(t, always(http.StatusInternalServerError))
	hook, _ := r.hook(receiver.URL)
	if _, err := r.registry.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "a"}); err != nil {
		t.Fatal(err)
	}
	r.deliver()
	eventually(t, "the event is a dead letter", func() bool { return r.status(hook).DeadLetters >= 1 })
	r.stop()
	later.Store(int64(100 * 24 * time.Hour))
	eventually(t, "the event is purged", func() bool {
		later.Add(int64(100 * 24 * time.Hour))
		if _, err := r.registry.Sweep(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		page, err := r.registry.Events(t.Context(), dibs.FeedQuery{})
		return err == nil && len(page.Events) == 0
	})
	letters, err := r.service.DeadLetters(t.Context(), hook.ID, "", 1)
	if err != nil || len(letters) != 1 {
		t.Fatal(letters, err)
	}
	if _, err := r.service.Resend(t.Context(), hook, letters[0].ID); !errors.Is(err, webhook.ErrPurged) {
		t.Error(err)
	}
	receiver.set(nil)
	if all, err := r.service.ResendAll(t.Context(), hook); err != nil || all.Purged == 0 || all.Left != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// Removing a webhook deletes all its documents and ends its deliveries.
func TestRemove(t *testing.T) {
	t.Parallel()
	r := newRig(t, impatient)
	receiver := newReceiver(t, always(http.StatusInternalServerError))
	hook, _ := r.hook(receiver.URL)
	r.claim("slug", "a", "1")
	r.deliver()
	eventually(t, "the event is a dead letter", func() bool { return r.status(hook).DeadLetters == 1 })
	if err := r.service.Remove(t.Context(), hook.ID); err != nil {
		t.Fatal(err)
	}
	if err := r.service.Remove(t.Context(), hook.ID); !errors.Is(err, webhook.ErrNotFound) {
		t.Error(err)
	}
	r.stop()
	for _, kind := range webhook.AllDocuments() {
		if left, err := r.store.List(t.Context(), dibs.ListQuery{Kind: kind, Limit: 10}); err != nil || len(left) > 0 {
			t.Errorf("%s: %v, %v", kind, left, err)
		}
	}
	before := len(receiver.got())
	other, _ := r.hook(newReceiver(t, nil).URL)
	r.deliver()
	eventually(t, "another webhook gets the event", func() bool { return r.status(other).Delivered == 1 })
	if len(receiver.got()) != before {
		t.Error("the removed webhook still gets events")
	}
}

// An invalid webhook is refused with the field that is wrong.
func TestInvalidHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	good := webhook.Hook{URL: "https://example.com/", Namespaces: []string{"*"}}
	for name, c := range map[string]struct {
		field  string
		change func(*webhook.Hook)
	}{
		"no url":       {"url", func(h *webhook.Hook) { h.URL = "" }},
		"internal":     {"url", func(h *webhook.Hook) { h.URL = "https://10.0.0.1/" }},
		"namespaces":   {"namespaces", func(h *webhook.Hook) { h.Namespaces = nil }},
		"a namespace":  {"namespaces", func(h *webhook.Hook) { h.Namespaces = []string{"*.slug"} }},
		"kind":         {"kinds", func(h *webhook.Hook) { h.Kinds = []dibs.EventKind{"renamed"} }},
		"description":  {"description", func(h *webhook.Hook) { h.Description = strings.Repeat("x", 201) }},
		"plain":        {"url", func(h *webhook.Hook) { h.URL = "http://example.com/" }},
		"many of them": {"namespaces", func(h *webhook.Hook) { h.Namespaces = make([]string, 101) }},
	} {
		hook := good
		c.change(&hook)
		_, _, err := r.service.Create(t.Context(), hook, "")
		var wrong *webhook.InvalidError
		if !errors.As(err, &wrong) || wrong.Field != c.field || !errors.Is(err, webhook.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := r.service.Create(t.Context(), good, "nonsense"); !errors.Is(err, dibs.ErrBadCursor) {
		t.Error(err)
	}
	greedy := good
	greedy.CreatedBy = "greedy"
	for range 25 {
		if _, _, err := r.service.Create(t.Context(), greedy, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := r.service.Create(t.Context(), greedy, ""); !errors.Is(err, webhook.ErrTooManyOfOne) {
		t.Error(err)
	}
	for range 75 {
		if _, _, err := r.service.Create(t.Context(), good, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := r.service.Create(t.Context(), good, ""); !errors.Is(err, webhook.ErrTooMany) {
		t.Error(err)
	}
}

// A webhook can ask for every kind of event.
func TestKindsAreComplete(t *testing.T) {
	t.Parallel()
	listed := make(map[string]bool)
	for _, k := range webhook.AllKinds() {
		listed[string(k)] = true
	}
	for _, k := range kindsInSource(t) {
		if !listed[k] {
			t.Errorf("kind %s is missing", k)
		}
	}
}
