package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/webhook"
	"github.com/calldibs/dibs/memstore"
)

// Receivers that fail at random get all events in order.
func TestOrderPerKeyUnderFailures(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		defer func() { r.stop() }()
		seed := rapid.Uint64().Draw(rt, "seed")
		failing := rapid.IntRange(0, 80).Draw(rt, "failing")
		random := rand.New(rand.NewPCG(seed, 1))
		receiver := newReceiver(t, func(request) int { // under the receiver's lock
			if random.IntN(100) < failing {
				return http.StatusServiceUnavailable
			}
			return http.StatusOK
		})
		defer receiver.Close()
		hook, _ := r.hook(receiver.URL)
		keys, events := rapid.IntRange(1, 6).Draw(rt, "keys"), rapid.IntRange(1, 5).Draw(rt, "events")
		r.deliver()
		for i := range keys {
			r.life(fmt.Sprint("name", i), events-1)
		}
		eventually(t, "all events arrive", func() bool { return r.status(hook).Behind == 0 })
		checkOrder(t, receiver.accepted(), keys*events)
		if n := len(receiver.accepted()); n != keys*events {
			rt.Fatalf("%d requests were accepted for %d events: some were sent again", n, keys*events)
		}
	})
}

// mortal is the store of a process that can die: from then on no call reaches the engine.
type mortal struct {
	dibs.Store
	dead  atomic.Bool
	hangs atomic.Bool  // List does not return
	saves atomic.Int64 // how many states may still be saved; negative means any number
}

var errDead = errors.New("the process is dead")

func (m *mortal) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	for _, g := range groups {
		for _, w := range g.Writes {
			if w.Record.Ref().Kind == webhook.KindState && m.saves.Add(-1) == 0 {
				m.dead.Store(true)
			}
		}
	}
	if m.dead.Load() {
		return nil, dibs.Unavailable(errDead)
	}
	return m.Store.Commit(ctx, groups)
}

func (m *mortal) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	if m.dead.Load() {
		return dibs.LoadResult{}, dibs.Unavailable(errDead)
	}
	return m.Store.Load(ctx, refs)
}

func (m *mortal) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	if m.hangs.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return m.Store.List(ctx, query)
}

func (m *mortal) Close() error { return nil } // the engine stays open

// After a process died between sending and saving, its successor sends the unsaved events again,
// with the same ids, and none is lost.
func TestCrashBetweenSendingAndSaving(t *testing.T) {
	t.Parallel()
	for saves := range 6 {
		t.Run(fmt.Sprint(saves), func(t *testing.T) {
			t.Parallel()
			store := memstore.New(memstore.Config{})
			receiver := newReceiver(t, nil)
			first := &mortal{Store: store}
			first.saves.Store(-1)
			short := func(c *webhook.Config) {
				c.Timeout = time.Second
				*c = c.WithLimits(webhook.Limits{Lease: 1200 * time.Millisecond, Poll: quick.Poll, Save: time.Nanosecond})
			}
			a := rigOn(t, first, short)
			hook, _ := a.hook(receiver.URL)
			for i := range 4 {
				a.life(fmt.Sprint("name", i), 9)
			}
			first.saves.Store(int64(saves + 2)) // the first one takes over
			a.deliver()
			eventually(t, "the process dies", first.dead.Load)
			a.stop() // its last save fails too
			sent := len(receiver.accepted())

			b := rigOn(t, &mortal{Store: store}, short)
			b.deliver()
			eventually(t, "all events arrive", func() bool { return b.status(hook).Behind == 0 })
			checkOrder(t, receiver.accepted(), 40)
			ids := make(map[string]int)
			for _, q := range receiver.accepted() {
				ids[q.header.Get("webhook-id")]++
			}
			if len(ids) != 40 {
				t.Errorf("%d ids for 40 events", len(ids))
			}
			t.Logf("%d events were sent before it died, %d in all", sent, len(receiver.accepted()))
		})
	}
}

// Of two processes one delivers. When it shuts down, the other takes over at once; when it loses
// the engine, it stops by itself before the other begins.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	receiver := newReceiver(t, nil)
	short := withLease(2*time.Second, 3*time.Second)
	cut := &mortal{Store: store}
	cut.saves.Store(-1)
	a := rigOn(t, cut, short)
	b := rigOn(t, &mortal{Store: store}, short)
	hook, _ := a.hook(receiver.URL)
	a.deliver()
	b.deliver()
	total := 0
	more := func(r *rig, name string) {
		r.life(name, 4)
		total += 5
		eventually(t, name+" arrives", func() bool { return r.status(hook).Behind == 0 })
	}
	more(a, "together")
	if n := len(receiver.accepted()); n != total {
		t.Errorf("%d deliveries of %d events: both processes delivered", n, total)
	}
	b.stop()
	more(a, "first alone")
	b.deliver()
	a.stop()
	more(b, "handed over")
	if n := len(receiver.accepted()); n != total {
		t.Errorf("%d deliveries of %d events after a shutdown", n, total)
	}
	a.deliver()
	b.stop()
	more(b, "handed back") // delivered by a
	cut.dead.Store(true)
	b.deliver()
	more(b, "after losing the engine")
	checkOrder(t, receiver.accepted(), total)
}

// A process that loses the engine while it delivers stops before its lease expires, so that only
// its successor sends.
func TestCutOffProcessStopsInTime(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	receiver := newReceiver(t, nil)
	receiver.delay = 30 * time.Millisecond
	receiver.answer = func(q request) int { // under the receiver's lock
		if q.event.Source == "b" {
			receiver.delay = 0 // it has all the time that it needs
		}
		return http.StatusOK
	}
	// A delivery begins only if the lease lasts for its timeout: so long may the machine be busy.
	short := withLease(2*time.Second, 3*time.Second)
	named := func(name string) func(*webhook.Config) { return func(c *webhook.Config) { c.Source = name } }
	cut := &mortal{Store: store}
	cut.saves.Store(-1)
	a := rigOn(t, cut, short, named("a"))
	b := rigOn(t, &mortal{Store: store}, short, named("b"))
	hook, _ := a.hook(receiver.URL)
	const events = 150 // they take longer than the lease lasts
	a.life("name", events-1)
	a.deliver()
	eventually(t, "the first process delivers", func() bool { return len(receiver.got()) > 3 })
	cut.dead.Store(true)
	cut.hangs.Store(true)
	b.deliver()
	eventually(t, "all events arrive", func() bool { return b.status(hook).Behind == 0 })
	successor := false
	for _, q := range receiver.got() {
		switch q.event.Source {
		case "b":
			successor = true
		case "a":
			if successor {
				t.Fatal("both processes sent")
			}
		}
	}
	checkOrder(t, receiver.accepted(), events)
}
