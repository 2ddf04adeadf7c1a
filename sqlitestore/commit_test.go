package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

func TestAllFieldsRoundTrip(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	n := activeName("full", dibs.Entity{Type: "user", ID: "1"})
	n.Value, n.Intended, n.CorrelationID, n.Doubt = "FULL", dibs.Entity{Type: "a", ID: "b"}, "corr", "why"
	n.Meta = map[string]string{"k": "v<&\"", "": ""}
	n.ExpiresAt, n.Asked, n.AskAt, n.EndedAt, n.Line, n.Until = 1, 2, 3, 4, dibs.ID{5}, 6
	n.Terms = dibs.Terms{Witnessed: true, Many: true, Quarantine: time.Millisecond, HoldHistory: 2 * time.Hour}
	n.Due = 7
	e := &dibs.EntityRecord{
		ID: dibs.EntityID("acme", n.Owner), Rev: 3, Scope: "acme", Entity: n.Owner, Archived: true, Deleted: true,
		Active: map[string]dibs.ID{"acme.slug/x": n.ID}, Due: 8,
	}
	d := &dibs.Document{Kind: "odd kind", Scope: "acme", ID: n.ID, Rev: 4, Label: "l\x00\xff", Due: 9, Data: []byte{0, 255}}
	g := dibs.Group{Events: []dibs.Event{eventOf(dibs.EventClaimed, n)}}
	want := []dibs.Record{n, e, d}
	var refs []dibs.Ref
	for _, record := range want {
		g.Reads = append(g.Reads, dibs.Read{Ref: record.Ref()})
		g.Writes = append(g.Writes, dibs.Write{Record: record})
		refs = append(refs, record.Ref())
	}
	mustCommit(t, s, g)
	if got := mustLoad(t, s, refs...); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	due, err := s.Due(context.Background(), 10)
	if err != nil || !reflect.DeepEqual(due, refs) {
		t.Errorf("due: %v %v, want %v", due, err, refs)
	}
}

// Numbers of groups around the sizes of statements.
func TestBatchesOfAnySize(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	total := 0
	for _, size := range []int{1, 2, 3, 7, 8, 9, 63, 255, 256, 257, 600} {
		var groups []dibs.Group
		var refs []dibs.Ref
		for i := range size {
			n := heldName(fmt.Sprintf("%d-%d", size, i))
			groups, refs = append(groups, insertGroup(n)), append(refs, n.Ref())
		}
		mustCommit(t, s, groups...)
		total += size
		if got := len(mustLoad(t, s, refs...)); got != size {
			t.Errorf("%d of %d found", got, size)
		}
	}
	events, err := s.Events(context.Background(), dibs.EventQuery{Limit: 10_000})
	if err != nil || len(events) != total {
		t.Errorf("%d events (%v), want %d", len(events), err, total)
	}
}

func TestStaleGroupsDoNotAffectOthers(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	a, b, c := heldName("a"), heldName("b"), heldName("c")
	mustCommit(t, s, insertGroup(a))
	late := insertGroup(c)
	late.Window.Before = testNow
	outcomes, err := s.Commit(context.Background(), []dibs.Group{insertGroup(a), insertGroup(b), late})
	want := []dibs.Outcome{dibs.Stale, dibs.Committed, dibs.Stale}
	if err != nil || !reflect.DeepEqual(outcomes, want) {
		t.Errorf("got %v %v, want %v", outcomes, err, want)
	}
	if got := mustLoad(t, s, a.Ref(), b.Ref(), c.Ref()); len(got) != 2 {
		t.Errorf("%d names, want 2", len(got))
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	first := heldName("first")
	mustCommit(t, s, insertGroup(first))
	limit := func(pages int) {
		conn := <-s.writer.idle
		defer s.writer.put(conn)
		if err := conn.script(context.Background(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // the file cannot grow
	var failed []dibs.Group
	for i := range 500 {
		failed = append(failed, insertGroup(heldName(numbered(i))))
	}
	for range 2 {
		_, err := s.Commit(context.Background(), failed)
		if !errors.Is(err, dibs.ErrUnavailable) {
			t.Fatalf("on a full disk: got %v, want UNAVAILABLE", err)
		}
	}
	if len(mustLoad(t, s, first.Ref())) != 1 || len(mustLoad(t, s, failed[0].Reads[0].Ref)) != 0 {
		t.Error("reads on a full disk are wrong")
	}
	limit(1 << 30)
	mustCommit(t, s, failed...)
}

func TestBusyIsUnavailable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "names.db")
	s := openTest(t, path, Config{BusyTimeout: 20 * time.Millisecond})
	_, holder := beginTx(t, callersDB(t, path, "_txlock", "immediate"))
	n := heldName("a")
	if _, err := s.Commit(context.Background(), []dibs.Group{insertGroup(n)}); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("got %v, want UNAVAILABLE", err)
	}
	if len(mustLoad(t, s, n.Ref())) != 0 {
		t.Error("reads must work")
	}
	if err := holder.run.tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, insertGroup(n))
}

func TestCloseWaitsForCalls(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				n := heldName(fmt.Sprintf("%d-%d", w, i))
				_, err := s.Commit(context.Background(), []dibs.Group{insertGroup(n)})
				if err == nil {
					_, err = s.Load(context.Background(), []dibs.Ref{n.Ref(), {Kind: dibs.KindEntity}})
				}
				if err == nil {
					_, err = s.Events(context.Background(), dibs.EventQuery{Limit: 3})
				}
				if errors.Is(err, dibs.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				if w == 0 && i == 20 {
					go func() { _ = s.Close() }()
				}
			}
		})
	}
	wg.Wait()
}

func TestCursors(t *testing.T) {
	t.Parallel()
	s := newTest(t)
	mustCommit(t, s, insertGroup(heldName("a")))
	for cursor, good := range map[dibs.Cursor]bool{"": true, "0": false, "1": true, "2": false, "-1": false, "01": false, "+1": false, "x": false, "99999999999999999999": false} {
		_, err := s.Events(context.Background(), dibs.EventQuery{After: cursor, Limit: 1})
		if good != (err == nil) || !good && !errors.Is(err, dibs.ErrBadCursor) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

// A session that was left in a transaction must not block later writes.
func TestWriterRecovers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "names.db")
	broken := false
	s := openTest(t, path, Config{Now: func() time.Time {
		if broken {
			panic("the clock is broken")
		}
		return testClock()
	}})
	mustCommit(t, s, insertGroup(heldName("a")))
	broken = true
	func() {
		defer func() { _ = recover() }()
		_, _ = s.Commit(context.Background(), []dibs.Group{insertGroup(heldName("b"))})
		t.Error("the panic was swallowed")
	}()
	broken = false
	mustCommit(t, s, insertGroup(heldName("c")))
	mustCommit(t, openTest(t, path, Config{}), insertGroup(heldName("d"))) // the lock is free

	conn := <-s.writer.idle
	err := conn.script(context.Background(), "BEGIN") // left open
	s.writer.put(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(context.Background(), []dibs.Group{insertGroup(heldName("e"))}); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("got %v, want UNAVAILABLE once", err)
	}
	mustCommit(t, s, insertGroup(heldName("e")))
}

// A Commit whose context ends while it waits for the lock writes nothing.
func TestCommitAfterItsDeadline(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "names.db")
	s, other := openTest(t, path, Config{BusyTimeout: time.Minute}), openTest(t, path, Config{})
	conn := <-other.writer.idle
	defer other.writer.put(conn)
	if err := conn.begin(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error)
	go func() {
		_, err := s.Commit(ctx, []dibs.Group{insertGroup(heldName("late"))})
		failed <- err
	}()
	for len(s.writer.idle) > 0 { // until it has begun
		runtime.Gosched()
	}
	cancel()
	conn.rollback()
	if err := <-failed; !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("%v, want UNAVAILABLE", err)
	}
	if found, err := s.Load(context.Background(), []dibs.Ref{heldName("late").Ref()}); err != nil || len(found.Records) != 0 {
		t.Errorf("found %+v, %v", found.Records, err)
	}
}
