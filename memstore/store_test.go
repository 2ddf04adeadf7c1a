package memstore_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{
		Open: func(_ testing.TB, clock *storetest.Clock) dibs.Store {
			return memstore.New(memstore.Config{Now: clock.Now})
		},
	})
}

// hold makes a group that stores a new name.
func hold(canonical string) dibs.Group {
	name := &dibs.NameRecord{
		ID: dibs.NameID("slug", canonical), Rev: 1, Namespace: "slug", Value: canonical, Canonical: canonical,
		State: dibs.Held, Status: dibs.StatusReserved,
	}
	return dibs.Group{
		Reads:  []dibs.Read{{Ref: name.Ref()}},
		Writes: []dibs.Write{{Record: name}},
		Events: []dibs.Event{{Kind: dibs.EventReserved, ID: name.ID, Namespace: "slug", Canonical: canonical, Rev: 1}},
	}
}

// Ten thousand callers want one name, and each one more name of its own.
func TestManyCallers(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	var winners atomic.Int32
	var wg sync.WaitGroup
	for i := range 10_000 {
		wg.Go(func() {
			outcomes, err := store.Commit(t.Context(), []dibs.Group{hold("one"), hold(fmt.Sprint(i))})
			if err != nil || outcomes[1] != dibs.Committed {
				t.Errorf("caller %d: %v, %v", i, outcomes, err)
				return
			}
			winners.Add(int32(outcomes[0]))
		})
	}
	wg.Wait()
	if winners.Load() != 1 {
		t.Errorf("%d callers have the name, want 1", winners.Load())
	}
}

// Inside testing/synctest the default clock is that of the bubble.
func TestClockInSynctest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(memstore.Config{})
		for range 2 {
			snapshots, err := store.Load(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := dibs.InstantOf(time.Now()); snapshots.Now != want {
				t.Errorf("Now is %d, want %d", snapshots.Now, want)
			}
			time.Sleep(time.Hour)
		}
	})
}

// A position beyond the end, or another spelling of a number, is not a cursor.
func TestBadCursors(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	if _, err := store.Commit(t.Context(), []dibs.Group{hold("a")}); err != nil {
		t.Fatal(err)
	}
	for _, cursor := range []dibs.Cursor{"0", "2", "01", "+1", "18446744073709551615"} {
		if _, err := store.Events(t.Context(), dibs.EventQuery{After: cursor, Limit: 1}); !errors.Is(err, dibs.ErrBadCursor) {
			t.Errorf("after %q: %v, want ErrBadCursor", cursor, err)
		}
	}
}
