package storetest

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
)

// ofSources runs a case on engines that have snapshots.
func ofSources(run func(e *env)) func(e *env) {
	return func(e *env) {
		if _, ok := e.store.(snapshot.Source); !ok {
			e.Logf("not run: the engine has no snapshots")
			return
		}
		run(e)
	}
}

func (e *env) snapshot() snapshot.View {
	e.Helper()
	view, err := snapshot.Take(e.Context(), e.store)
	if err != nil {
		e.Fatalf("Snapshot: %v", err)
	}
	e.Cleanup(func() { _ = view.Close() })
	return view
}

// collect returns the elements of an iterator.
func collect[T any](e *env, elements iter.Seq2[T, error]) (all []T) {
	e.Helper()
	for element, err := range elements {
		if err != nil {
			e.Fatalf("an iterator of a snapshot: %v", err)
		}
		all = append(all, element)
	}
	return all
}

// shows demands that a view has exactly these records and events, the records in its order.
func (e *env) shows(view snapshot.View, records []dibs.Record, events []dibs.Event) {
	e.Helper()
	for _, table := range snapshot.Tables {
		var want []dibs.Record
		for _, record := range records {
			if snapshot.TableOf(record.Ref().Kind) == table {
				want = append(want, record)
			}
		}
		slices.SortFunc(want, func(a, b dibs.Record) int { return snapshot.CompareRefs(a.Ref(), b.Ref()) })
		got := slices.DeleteFunc(collect(e, view.Records(e.Context(), table)), snapshot.IsLocal)
		for i := range min(len(got), len(want)) {
			if d := diff(got[i], want[i]); d != "" {
				e.Fatalf("the snapshot has %s, it must have %s: %s", describe(got[i]), describe(want[i]), d)
			}
		}
		if len(got) != len(want) {
			e.Fatalf("the snapshot has %d %s, it must have %d", len(got), table, len(want))
		}
	}
	got := collect(e, view.Events(e.Context(), ""))
	e.sameEvents(got, events)
	for i := range got {
		if i < len(events) && events[i].Cursor != "" && got[i].Cursor != events[i].Cursor {
			e.Fatalf("event %d of the snapshot has the cursor %q, in the feed it has %q", i+1, got[i].Cursor, events[i].Cursor)
		}
	}
}

// history of a small registry: every kind of record, with events.
func (e *env) populate() (records []dibs.Record) {
	e.Helper()
	for i, s := range standings {
		full := fullName("acme.eu.slug", fmt.Sprintf("full %d", i), s)
		full.Owner.ID = fmt.Sprint(i) // each has an owner of its own
		full.Terms.Many = true
		bare := name("slug", fmt.Sprintf("bare %d", i), s.state)
		bare.Status = s.status
		e.commit(join(create(full), telling(fullEvent(dibs.EventClaimed, full))), claim(bare))
		records = append(records, full, bare)
	}
	owner, quota := fullEntity(), document(dibs.KindQuota, "q")
	quota.Due = e.now()
	e.commit(join(create(owner), telling(fullEntityEvent(dibs.EventArchived))), create(quota))
	records = append(records, owner, quota, entity("", dibs.Entity{Type: "user", ID: "1"}))
	e.commit(create(records[len(records)-1]))
	for i, kind := range []dibs.Kind{"storetest", dibs.KindTally, dibs.KindNamespace, "store", "storetestt"} {
		for j := range 3 {
			d := document(kind, fmt.Sprint(i, j))
			d.Data = []byte{0, byte(i), 0xff, byte(j)}
			e.commit(create(d))
			records = append(records, d)
		}
	}
	return records
}

func snapshotShows(e *env) {
	e.shows(e.snapshot(), nil, nil)
	records := e.populate()
	var some []dibs.Group
	for i := range snapshot.PageSize + 7 { // more than a page of names, entities, documents and events
		n, owner := name("slug", fmt.Sprint("many ", i), dibs.Active), entity("", dibs.Entity{Type: "team", ID: fmt.Sprint(i)})
		d := document(dibs.KindTally, fmt.Sprint("many ", i))
		some = append(some, join(claim(n), create(owner), create(d)))
		records = append(records, n, owner, d)
		if len(some) == 20 || i == snapshot.PageSize+6 {
			e.commit(some...)
			some = nil
		}
	}
	view, feed := e.snapshot(), e.feed(dibs.EventQuery{})
	e.shows(view, records, feed)
	for _, i := range []int{0, 1, len(feed) / 2, len(feed) - 2, len(feed) - 1} {
		e.sameEvents(collect(e, view.Events(e.Context(), feed[i].Cursor)), feed[i+1:])
	}
	e.sameEvents(collect(e, view.Events(e.Context(), view.Latest())), nil)
	if _, err := firstError(view.Events(e.Context(), "no cursor")); !errors.Is(err, dibs.ErrBadCursor) {
		e.Fatalf("a made-up cursor is answered with %v, it must be refused with ErrBadCursor", err)
	}
	found, err := view.Load(e.Context(), append(refsOf(records[0], records[len(records)-1]), name("slug", "absent", dibs.Held).Ref()))
	if err != nil || len(found) != 2 {
		e.Fatalf("Load of two records that exist, and one that does not: %d records, %v", len(found), err)
	}
	if view.Now() < e.now() {
		e.Fatalf("the snapshot is of %v, it must not be before %v", view.Now(), e.now())
	}
}

// firstError returns how many elements come before the first error.
func firstError[T any](elements iter.Seq2[T, error]) (n int, err error) {
	for _, err := range elements {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func snapshotMoment(e *env) {
	records := e.populate()
	feed := e.feed(dibs.EventQuery{})
	view := e.snapshot()
	// Every kind of change, while an iterator is under way.
	seen, touched := 0, 0
	for record, err := range view.Records(e.Context(), snapshot.Names) {
		if err != nil {
			e.Fatalf("an iterator of a snapshot: %v", err)
		}
		if d := diff(record, e.named(records, record.Ref())); d != "" {
			e.Fatalf("%s has changed in a snapshot: %s", describe(record), d)
		}
		n := record.(*dibs.NameRecord)
		switch seen++; seen % 3 {
		case 0:
			e.commit(remove(n))
		default:
			changed, _ := touch(n)
			e.commit(changed)
			touched++
		}
	}
	more := name("slug", "later", dibs.Held)
	e.commit(claim(more), create(document("storetest", "later")))
	e.shows(view, records, feed)
	after := e.feed(dibs.EventQuery{After: view.Latest()})
	if len(after) != touched+1 {
		e.Fatalf("%d events follow the end of the snapshot's feed, it must be the %d of later commits", len(after), touched+1)
	}
	if err := view.Close(); err != nil {
		e.Fatalf("Close of the snapshot: %v", err)
	}
	_ = view.Close()
}

// named returns the record with a ref.
func (e *env) named(records []dibs.Record, ref dibs.Ref) dibs.Record {
	e.Helper()
	i := slices.IndexFunc(records, func(r dibs.Record) bool { return r.Ref() == ref })
	if i < 0 {
		e.Fatalf("the snapshot has a record that was not committed: %v", ref)
	}
	return records[i]
}

// Snapshots among writers: each shows every name at the revision of its last event, and what follows
// the end of its feed is exactly the rest.
func snapshotAmongWriters(e *env) {
	const (
		writers = 4
		commits = 20
	)
	handles := e.handles()
	var writing atomic.Int32
	writing.Store(writers)
	var views []snapshot.View
	e.together(writers+1, func(i int) error {
		if i < writers {
			defer writing.Add(-1)
			return write(e.Context(), handles[i%len(handles)], fmt.Sprint(i), commits)
		}
		for len(views) < 3 || (writing.Load() > 0 && len(views) < 20) {
			view, err := snapshot.Take(e.Context(), e.store)
			if err != nil {
				return fmt.Errorf("Snapshot: %w", err)
			}
			views = append(views, view) // it stays open while the others write
		}
		return nil
	})
	for _, view := range views {
		e.isConsistent(view)
		_ = view.Close()
	}
}

func (e *env) isConsistent(view snapshot.View) {
	e.Helper()
	revs := make(map[dibs.ID]uint64)
	for _, ev := range collect(e, view.Events(e.Context(), "")) {
		if ev.Rev != revs[ev.ID]+1 {
			e.Fatalf("the snapshot has the event of revision %d of %s after that of %d", ev.Rev, ev.Key(), revs[ev.ID])
		}
		revs[ev.ID] = ev.Rev
	}
	names := collect(e, view.Records(e.Context(), snapshot.Names))
	for _, record := range names {
		if record.Revision() != revs[record.Ref().ID] {
			e.Fatalf("%s has revision %d, its last event has %d", describe(record), record.Revision(), revs[record.Ref().ID])
		}
	}
	if len(names) != len(revs) {
		e.Fatalf("the snapshot has %d names, and events of %d", len(names), len(revs))
	}
	for _, ev := range e.feed(dibs.EventQuery{After: view.Latest()}) {
		if ev.Rev != revs[ev.ID]+1 {
			e.Fatalf("behind the end of the snapshot's feed the event of revision %d of %s follows that of %d", ev.Rev, ev.Key(), revs[ev.ID])
		}
		revs[ev.ID] = ev.Rev
	}
}

func snapshotClosed(e *env) {
	records := e.populate()
	view := e.snapshot()
	if len(records) == 0 || e.store.Close() != nil {
		e.Fatalf("the store does not close while a snapshot is open")
	}
	if _, err := snapshot.Take(e.Context(), e.store); !errors.Is(err, dibs.ErrUnavailable) {
		e.Fatalf("Snapshot after Close: %v, it must match ErrUnavailable", err)
	}
	if _, err := firstError(view.Records(e.Context(), snapshot.Names)); err != nil && !errors.Is(err, dibs.ErrUnavailable) {
		e.Fatalf("a snapshot of a closed store: %v, it must match ErrUnavailable", err)
	}
}
