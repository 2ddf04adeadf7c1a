package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
)

// call is one use of a Store.
type call struct {
	method string
	do     func(ctx context.Context, store dibs.Store) error
}

// calls has one use of every method that takes a context. fresh is an absent
// record, and stays absent unless the Commit succeeds.
func calls(fresh *dibs.NameRecord) []call {
	return []call{
		{"Load", func(ctx context.Context, store dibs.Store) error {
			_, err := store.Load(ctx, refsOf(fresh))
			return err
		}},
		{"Load of nothing", func(ctx context.Context, store dibs.Store) error {
			_, err := store.Load(ctx, nil)
			return err
		}},
		{"Commit", func(ctx context.Context, store dibs.Store) error {
			_, err := store.Commit(ctx, []dibs.Group{claim(fresh)})
			return err
		}},
		{"Await", func(ctx context.Context, store dibs.Store) error {
			return store.Await(ctx, refsOf(fresh), 1)
		}},
		{"Due", func(ctx context.Context, store dibs.Store) error {
			_, err := store.Due(ctx, 10)
			return err
		}},
		{"Owned", func(ctx context.Context, store dibs.Store) error {
			_, err := store.Owned(ctx, "", dibs.Entity{Type: "user", ID: "1"}, 10)
			return err
		}},
		{"List", func(ctx context.Context, store dibs.Store) error {
			_, err := store.List(ctx, dibs.ListQuery{Kind: dibs.KindName, Limit: 10})
			return err
		}},
		{"Count", func(ctx context.Context, store dibs.Store) error {
			_, err := store.Count(ctx, 1)
			return err
		}},
		{"Events", func(ctx context.Context, store dibs.Store) error {
			_, err := store.Events(ctx, dibs.EventQuery{Limit: 10})
			return err
		}},
		{"Latest", func(ctx context.Context, store dibs.Store) error {
			_, err := store.Latest(ctx)
			return err
		}},
	}
}

func concurrent(e *env) {
	const workers = 12
	handles := e.handles()
	e.together(workers, func(i int) error {
		store := handles[i%len(handles)]
		ctx := e.Context()
		n := name("slug", fmt.Sprint(i), dibs.Active)
		n.Due = e.now()
		if err := mustCommit(ctx, store, claim(n)); err != nil {
			return err
		}
		for range 5 {
			g, n2 := touch(n)
			if err := mustCommit(ctx, store, g); err != nil {
				return err
			}
			n = n2
			if err := seenEverywhere(ctx, store, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// seenEverywhere checks that every reading method sees a name that only the
// caller changes, and that is due.
func seenEverywhere(ctx context.Context, store dibs.Store, n *dibs.NameRecord) error {
	found, err := loadAll(ctx, store, n.Ref())
	if err != nil {
		return err
	}
	if got := found[n.Ref()]; got == nil || got.Revision() != n.Rev {
		return fmt.Errorf("Load does not see revision %d of %s", n.Rev, describe(n))
	}
	due, err := store.Due(ctx, 1000)
	if err != nil {
		return fmt.Errorf("Due: %w", err)
	}
	if len(due) == 0 {
		return errors.New("Due does not see a record that is due")
	}
	owned, err := store.Owned(ctx, n.Scope, n.Owner, 10)
	if err != nil {
		return fmt.Errorf("Owned: %w", err)
	}
	if len(owned) != 1 || owned[0].Rev != n.Rev {
		return fmt.Errorf("Owned does not see revision %d of %s", n.Rev, describe(n))
	}
	listed, err := store.List(ctx, dibs.ListQuery{Kind: dibs.KindName, From: n.Canonical, Limit: 1})
	if err != nil {
		return fmt.Errorf("List: %w", err)
	}
	if len(listed) != 1 || listed[0].Revision() != n.Rev {
		return fmt.Errorf("List does not see revision %d of %s", n.Rev, describe(n))
	}
	events, err := store.Events(ctx, dibs.EventQuery{Name: n.ID, Limit: 1000})
	if err != nil {
		return fmt.Errorf("Events: %w", err)
	}
	if uint64(len(events)) != n.Rev {
		return fmt.Errorf("Events sees %d events of %s, there are %d", len(events), describe(n), n.Rev)
	}
	return nil
}

func unavailable(e *env) {
	if e.harness.Cut != nil {
		e.harness.Cut(e.TB, e.store)
	} else {
		e.Logf("the harness has no Cut: only a closed store is tested")
		_ = e.store.Close()
	}
	ctx, cancel := context.WithTimeout(e.Context(), 30*time.Second)
	defer cancel()
	for _, c := range calls(name("slug", "a", dibs.Active)) {
		err := c.do(ctx, e.store)
		if c.method == "Commit" && e.harness.Cut != nil && errors.Is(err, dibs.ErrOutcomeUnknown) {
			continue // the engine may not know whether the commit succeeded
		}
		if !errors.Is(err, dibs.ErrUnavailable) {
			e.Fatalf("%s returned the error %v, it must match ErrUnavailable", c.method, err)
		}
		if errors.Is(err, dibs.ErrOutcomeUnknown) {
			e.Fatalf("%s returned %v, which matches ErrOutcomeUnknown too: nothing happened, so nothing is unknown", c.method, err)
		}
	}
}

func closed(e *env) {
	e.commit(claim(name("slug", "a", dibs.Active)))
	if err := e.store.Close(); err != nil {
		e.Fatalf("Close: %v", err)
	}
	for _, c := range calls(name("slug", "b", dibs.Active)) {
		if err := c.do(e.Context(), e.store); !errors.Is(err, dibs.ErrUnavailable) {
			e.Fatalf("%s after Close returned the error %v, it must match ErrUnavailable", c.method, err)
		}
	}
}

func cancelled(e *env) {
	ended, cancel := context.WithCancel(e.Context())
	cancel()
	late, cancelLate := context.WithDeadline(e.Context(), time.Now().Add(-time.Second))
	defer cancelLate()
	fresh := name("slug", "a", dibs.Active)
	for _, ctx := range []context.Context{ended, late} {
		for _, c := range calls(fresh) {
			if err := c.do(ctx, e.store); !errors.Is(err, ctx.Err()) {
				e.Fatalf("%s with a context that has ended returned the error %v, it must match %v", c.method, err, ctx.Err())
			}
		}
	}
	e.lacks(fresh)
	if events := e.feed(dibs.EventQuery{}); len(events) != 0 {
		e.Fatalf("a Commit with a context that has ended left %d events", len(events))
	}
	e.commit(claim(fresh)) // the store still works
}

func closeTwice(e *env) {
	e.commit(claim(name("slug", "a", dibs.Active)))
	e.together(4, func(int) error {
		for range 2 {
			if err := e.store.Close(); err != nil {
				return fmt.Errorf("Close: %w", err)
			}
		}
		return nil
	})
}

// reopen closes the store and opens its data again. It reports whether it could.
func (e *env) reopen() bool {
	e.Helper()
	if e.harness.Reopen == nil {
		e.Logf("not run: the harness has no Reopen, so the engine has no disk")
		return false
	}
	if err := e.store.Close(); err != nil {
		e.Fatalf("Close: %v", err)
	}
	e.store = e.closing(e.harness.Reopen(e.TB, e.store, e.clock))
	return true
}

// crash opens the data of the store again, without closing the store if the
// harness can do that. It reports whether it could.
func (e *env) crash() bool {
	e.Helper()
	if e.harness.Crash == nil {
		return e.reopen()
	}
	e.store = e.closing(e.harness.Crash(e.TB, e.store, e.clock))
	return true
}

func commitDurable(e *env) {
	const workers = 4
	kept := make([][]dibs.Record, workers)
	store := e.store
	e.together(workers, func(i int) error {
		for round := range 5 {
			n := name("slug", fmt.Sprintf("%d-%d", i, round), dibs.Active)
			d := document(dibs.KindTally, n.Canonical)
			if err := mustCommit(e.Context(), store, join(claim(n), create(d))); err != nil {
				return err
			}
			kept[i] = append(kept[i], n, d)
		}
		return nil
	})
	gone := kept[0][0].(*dibs.NameRecord)
	e.commit(remove(gone))
	if !e.crash() {
		return
	}
	e.lacks(gone)
	e.has(kept[0][1:]...)
	for _, records := range kept[1:] {
		e.has(records...)
	}
	if events := e.feed(dibs.EventQuery{}); len(events) != workers*5-1 {
		e.Fatalf("%d events are left of %d that were committed", len(events), workers*5-1)
	}
}

func reopenKeeps(e *env) {
	n := fullName("acme.slug", "a", standing{dibs.Active, dibs.StatusConfirmed})
	r, d := fullEntity(), fill(new(dibs.Document))
	d.Kind = "storetest"
	// The due dates are in this order, and all are reached.
	n.Due, r.Due, d.Due = e.now()-3, e.now()-2, e.now()-1
	odd := oddNames()
	told := fullEvent(dibs.EventConfirmed, n)
	e.commit(join(create(n, r, d), telling(told, fullEntityEvent(dibs.EventArchived))))
	e.commit(create(odd...))
	before := e.feed(dibs.EventQuery{})
	if !e.reopen() {
		return
	}
	e.has(n, r, d)
	e.has(odd...)
	e.isDue(10, n, r, d)
	e.owns("acme", n.Owner, 10, n)
	e.lists(dibs.ListQuery{Kind: "storetest", Limit: 10}, d)
	e.lists(dibs.ListQuery{Kind: dibs.KindName, Namespace: "slug", Limit: 1000}, odd...)
	after := e.feed(dibs.EventQuery{})
	e.sameEvents(after, before)
	for i := range after {
		if after[i].Cursor != before[i].Cursor {
			e.Fatalf("event %d has cursor %q, it had %q before the store was opened again", i+1, after[i].Cursor, before[i].Cursor)
		}
	}
}

func reopenContinues(e *env) {
	n, gone := name("slug", "a", dibs.Active), name("slug", "gone", dibs.Active)
	e.commit(claim(n))
	g, n2 := touch(n)
	e.commit(g)
	e.commit(claim(gone))
	seen := e.feed(dibs.EventQuery{})
	last := seen[len(seen)-1].Cursor
	if !e.reopen() {
		return
	}
	// After the newest event is deleted and the store is opened again, the
	// cursor of that event must not be used a second time.
	e.commit(remove(gone))
	e.reopen()
	e.sameEvents(e.feed(dibs.EventQuery{After: last}), nil)
	e.stale("the record has a later revision", g)
	g, n3 := touch(n2)
	e.commit(g)
	e.has(n3)
	e.sameEvents(e.feed(dibs.EventQuery{After: last}), []dibs.Event{happened(dibs.EventExtended, n3)})
	e.commit(claim(gone))
	e.sameEvents(e.feed(dibs.EventQuery{After: last}), []dibs.Event{
		happened(dibs.EventExtended, n3), happened(dibs.EventClaimed, gone),
	})
}
