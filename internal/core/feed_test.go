package core_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

func TestWatchWakesForOwnCommits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := coretest.OpenMem(t, dibs.Config{PollEvery: time.Hour})
		coretest.MustReserve(t, reg, "before")
		ctx, cancel := context.WithCancel(t.Context())
		seen := make(chan dibs.Event)
		ended := make(chan error, 1)
		go func() {
			for e, err := range reg.Watch(ctx, dibs.FeedQuery{}) {
				if err != nil {
					ended <- err
					return
				}
				seen <- e
			}
		}()
		if e := <-seen; e.Key() != "slug:before" {
			t.Errorf("the first event is of %s", e.Key())
		}
		start := time.Now()
		coretest.MustReserve(t, reg, "after")
		if e := <-seen; e.Key() != "slug:after" {
			t.Errorf("the second event is of %s", e.Key())
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("woke up after %v", waited)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Watch ended with %v", err)
		}
	})
}

func TestWatchPollsForCommitsOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(memstore.Config{})
		ours, theirs := coretest.MustOpen(t, store, dibs.Config{PollEvery: time.Second}), coretest.MustOpen(t, store, dibs.Config{})
		start := time.Now()
		go func() {
			time.Sleep(10 * time.Second)
			_, _ = theirs.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: "theirs"})
		}()
		for e, err := range ours.Watch(t.Context(), dibs.FeedQuery{}) {
			if err != nil || e.Key() != "slug:theirs" {
				t.Fatalf("%s, %v", e.Key(), err)
			}
			break
		}
		if waited := time.Since(start); waited > 11*time.Second {
			t.Errorf("seen after %v", waited)
		}
	})
}

func TestEventsResumeAndFilter(t *testing.T) {
	t.Parallel()
	reg := coretest.OpenMem(t, dibs.Config{})
	ctx := t.Context()
	for i := range 7 {
		for _, namespace := range []string{"slug", "email"} {
			if _, err := reg.Reserve(ctx, dibs.Reserve{Namespace: namespace, Value: fmt.Sprint("n", i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var keys []string
	query := dibs.FeedQuery{Namespace: "email", Limit: 3}
	for {
		page, err := reg.Events(ctx, query)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Events) == 0 {
			break
		}
		for _, e := range page.Events {
			keys = append(keys, e.Key())
		}
		query.After = page.Next
	}
	if want := "[email:n0 email:n1 email:n2 email:n3 email:n4 email:n5 email:n6]"; fmt.Sprint(keys) != want {
		t.Errorf("got %v", keys)
	}
	// The cursor of an empty page moves past the events of other namespaces.
	page, err := reg.Events(ctx, dibs.FeedQuery{Namespace: "username"})
	all, _ := reg.Events(ctx, dibs.FeedQuery{})
	if err != nil || len(page.Events) != 0 || page.Next != all.Next {
		t.Errorf("got %+v, %v; want no event and the cursor %s", page, err, all.Next)
	}
	if _, err := reg.Events(ctx, dibs.FeedQuery{After: "nonsense"}); !errors.Is(err, dibs.ErrBadCursor) {
		t.Errorf("a bad cursor: %v", err)
	}
}

// countingStore counts the events that are read.
type countingStore struct {
	dibs.Store
	read atomic.Int64
}

func (s *countingStore) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	events, err := s.Store.Events(ctx, query)
	s.read.Add(int64(len(events)))
	return events, err
}

// foreign commits n events of another namespace.
func foreign(t *testing.T, store dibs.Store, n int) {
	t.Helper()
	name := dibs.NameRecord{ID: dibs.NameID("email", "x"), Namespace: "email", Canonical: "x", Value: "x", State: dibs.Active}
	found, err := store.Load(t.Context(), []dibs.Ref{name.Ref()})
	if err != nil {
		t.Fatal(err)
	}
	var before uint64
	if len(found.Records) > 0 {
		before = found.Records[0].Revision()
	}
	name.Rev = before + uint64(n)
	group := dibs.Group{Reads: []dibs.Read{{Ref: name.Ref(), Rev: before}}, Writes: []dibs.Write{{Record: &name}}}
	for i := range n {
		group.Events = append(group.Events, dibs.Event{
			Kind: dibs.EventRespelled, ID: name.ID, Namespace: "email", Canonical: "x", Value: "x", Rev: before + uint64(i) + 1,
		})
	}
	if outcomes, err := store.Commit(t.Context(), []dibs.Group{group}); err != nil || outcomes[0] != dibs.Committed {
		t.Fatal(outcomes, err)
	}
}

// A page of one namespace reads a bounded number of events, however many other events there are.
func TestEventsOfANamespaceAreABoundedScan(t *testing.T) {
	t.Parallel()
	store := &countingStore{Store: memstore.New(memstore.Config{})}
	reg := coretest.MustOpen(t, store, dibs.Config{})
	foreign(t, store, 5500)
	coretest.MustReserve(t, reg, "needle")
	for _, limit := range []int{0, 1, 7, 999, 1000} {
		query, pages := dibs.FeedQuery{Namespace: "slug", Limit: limit}, 0
		for more := true; more; pages++ {
			store.read.Store(0)
			page, err := reg.Events(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			if read := store.read.Load(); read > 1000 {
				t.Fatalf("a page of %d read %d events", limit, read)
			}
			if page.More && (page.Next == query.After || len(page.Events) > 0 && limit != 1) || !page.More && limit != 1 && len(page.Events) != 1 {
				t.Fatalf("page %d of %d events, more %v, from %q to %q", pages, len(page.Events), page.More, query.After, page.Next)
			}
			query.After, more = page.Next, page.More
		}
		if pages < 6 || pages > 7 {
			t.Errorf("with limit %d there are %d pages", limit, pages)
		}
	}
	for e, err := range reg.Watch(t.Context(), dibs.FeedQuery{Namespace: "slug"}) {
		if err != nil || e.Key() != "slug:needle" {
			t.Errorf("watched %s, %v", e.Key(), err)
		}
		break
	}
}

// A caller that waits for events of one namespace reads each other event once, even if it gives up and
// calls again.
func TestAwaitEventsResumesAfterWhatItRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &countingStore{Store: memstore.New(memstore.Config{})}
		reg := coretest.MustOpen(t, store, dibs.Config{PollEvery: time.Second})
		query := dibs.FeedQuery{Namespace: "slug"}
		for range 10 {
			foreign(t, store, 300)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			page, err := reg.AwaitEvents(ctx, query)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || page.Next == query.After {
				t.Fatalf("%+v, %v", page, err)
			}
			query.After = page.Next
		}
		if read := store.read.Load(); read != 3000 {
			t.Errorf("%d events were read, want each of 3000 once", read)
		}
	})
}

// A moment is a place in the feed, on engines that find it and on others, also with a namespace.
func TestEventsFromAMoment(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(dibs.Store) dibs.Store{
		"seeker":  func(s dibs.Store) dibs.Store { return s },
		"scanned": func(s dibs.Store) dibs.Store { return struct{ dibs.Store }{s} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := coretest.MustOpen(t, wrap(memstore.New(memstore.Config{})), dibs.Config{})
				start := time.Now()
				for i := range 30 {
					coretest.MustReserve(t, reg, fmt.Sprint("name-", i))
					time.Sleep(time.Second)
				}
				for _, namespace := range []string{"", "slug"} {
					for i := range 30 {
						moment := start.Add(time.Duration(i)*time.Second - time.Millisecond)
						page, err := reg.Events(t.Context(), dibs.FeedQuery{After: cursorOf(moment), Namespace: namespace, Limit: 1})
						if want := fmt.Sprint("slug:name-", i); err != nil || len(page.Events) != 1 || page.Events[0].Key() != want {
							t.Errorf("from %v on comes %v, not %s; %v", moment, page.Events, want, err)
						}
					}
				}
				if page, err := reg.Events(t.Context(), dibs.FeedQuery{After: cursorOf(time.Now())}); err != nil || len(page.Events) > 0 || page.More {
					t.Errorf("from now on comes %v, %v", page, err)
				}
			})
		})
	}
}

// cursorOf returns the cursor of a moment.
func cursorOf(moment time.Time) dibs.Cursor { return dibs.Cursor(moment.Format(time.RFC3339Nano)) }
