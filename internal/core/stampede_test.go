package core_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// Callers that want one name share a batch, however many there are: one commit for the winner, and
// one load for all refusals. Calls for other names still fill it.
func TestRivalsShareABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := coretest.NewFixture(t, nil)
		s := &clockedSpy{Spy: &coretest.Spy{Store: coretest.StrictStore{Store: f.Engine, T: t}}}
		var batches []int
		f = f.With(coretest.MustOpen(t, s, dibs.Config{MaxBatch: 4, Suggestions: -1, Observer: dibs.Observer{
			Batch: func(b dibs.BatchInfo) { batches = append(batches, b.Requests) },
		}}))
		f.Must(coretest.Reserve("slug", "first", coretest.Token1), coretest.Claim("warm", "first", coretest.User1))
		synctest.Wait() // batches are reported after their answers
		batches = nil
		s.reset()
		lists := make([][]dibs.Command, 100)
		for i := range lists {
			lists[i] = []dibs.Command{coretest.Reserve("slug", "x", dibs.NewToken())}
		}
		for _, other := range []string{"a", "b", "c", "d"} { // the last one does not fit
			lists = append(lists, []dibs.Command{coretest.Reserve("slug", other, coretest.Token1)})
		}
		answers := coretest.InOneBatch(f, s.Spy, func([]dibs.Group) ([]dibs.Outcome, error) { return nil, nil }, nil, lists...)
		synctest.Wait()
		won := 0
		for i, a := range answers {
			switch {
			case a.Err == nil && i < 100:
				won++
			case a.Err != nil && (i >= 100 || !errors.Is(a.Err, dibs.ErrNameTaken)):
				t.Errorf("caller %d: %v", i, a.Err)
			}
		}
		if want := []int{1, 103, 1}; won != 1 || !slices.Equal(batches, want) {
			t.Errorf("%d callers got the name in batches of %v, want 1 in %v", won, batches, want)
		}
		s.took(t, "a race", 1, 3) // with the commits before and after it
	})
}

// slowSuggestions answers a Load for suggestions only when it is released. It loads before that.
type slowSuggestions struct {
	dibs.Store
	lookups atomic.Int64
	release chan struct{}
}

func (s *slowSuggestions) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	loaded, err := s.Store.Load(ctx, refs)
	if len(refs) > 10 {
		s.lookups.Add(1)
		<-s.release
	}
	return loaded, err
}

// Refusals of many batches share lookups of suggestions: one is under way, and the next serves all
// that came meanwhile. No caller gets a state from before its call, and none loses its suggestions
// because another one has left.
func TestSuggestionsAreSharedByBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := coretest.NewFixture(t, nil)
		f.Must(coretest.Claim("slug", "x", coretest.User1))
		s := &slowSuggestions{Store: f.Engine, release: make(chan struct{})}
		reg := coretest.MustOpen(t, s, dibs.Config{})
		var callers sync.WaitGroup
		refused := func(ctx context.Context, want error, first string) {
			callers.Go(func() {
				_, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "x"})
				e := f.WantError(err, want)
				if first != "" && (len(e.Suggestions) == 0 || e.Suggestions[0] != first) {
					t.Errorf("suggested are %v, want %s first", e.Suggestions, first)
				}
			})
			synctest.Wait()
		}
		leaving, leave := context.WithCancel(f.Ctx)
		defer leave()
		refused(leaving, dibs.ErrNameTaken, "") // it begins the first lookup, and leaves
		f.Must(coretest.Claim("slug", "x-2", coretest.User2))
		for i := range 10 {
			refused(f.Ctx, dibs.ErrNameTaken, "x-3")
			if i == 5 {
				leave()
			}
		}
		if n := s.lookups.Load(); n != 1 {
			t.Errorf("%d lookups are under way, want 1", n)
		}
		close(s.release)
		callers.Wait()
		if n := s.lookups.Load(); n != 2 {
			t.Errorf("%d lookups, want 2", n)
		}
	})
}

// A loser of a race costs little: its own request, and no decision about the name.
func TestAllocationsOfARace(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector, pools lose what they have")
	}
	const callers, most = 2000, 18
	reg := coretest.MustOpen(t, memstore.New(memstore.Config{}), dibs.Config{})
	race := func(name string) uint64 {
		var (
			won          atomic.Int64
			group, ready sync.WaitGroup
			start        = make(chan struct{})
			before, then runtime.MemStats
		)
		ready.Add(callers)
		for range callers {
			group.Go(func() {
				ready.Done()
				<-start
				if _, err := reg.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: name}); err == nil {
					won.Add(1)
				}
			})
		}
		ready.Wait()
		runtime.ReadMemStats(&before)
		close(start)
		group.Wait()
		runtime.ReadMemStats(&then)
		if won.Load() != 1 {
			t.Errorf("%d callers won", won.Load())
		}
		return (then.Mallocs - before.Mallocs) / callers
	}
	race("warm")
	if n := race("name"); n > most {
		t.Errorf("%d allocations for each caller, want at most %d", n, most)
	} else {
		t.Logf("%d allocations for each caller", n)
	}
}
