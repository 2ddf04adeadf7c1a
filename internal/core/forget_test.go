package core_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// A Forget that failed continues when it is repeated, however many names there are.
func TestForgetContinues(t *testing.T) {
	t.Parallel()
	const names = 70
	f := coretest.NewFixture(t, coretest.Forgetful())
	for i := range names {
		f.Must(coretest.Claim("email", fmt.Sprintf("alice@%c%c", 'a'+i/10, 'a'+i%10), coretest.Alice))
	}
	for fails := 0; ; fails++ {
		reg := coretest.MustOpen(t, &failing{Store: f.Engine, after: 1 + 7*fails}, dibs.Config{Policies: coretest.Forgetful()})
		_, err := reg.Forget(f.Ctx, dibs.ForgetRequest{Entity: coretest.Alice})
		f.WantResolve("email", "alice@aa", 410, "") // from the start
		if err == nil {
			if fails < 3 {
				t.Fatalf("it failed %d times, want at least 3", fails)
			}
			break
		}
		if !errors.Is(err, dibs.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	f.WantNoTrace("alice")
	if n := len(f.AllEvents()); n != names+1 {
		t.Errorf("%d events are left, want one for each name and one for the deletion", n)
	}
}

// failing is a store that fails after a number of commits.
type failing struct {
	dibs.Store
	after int
}

func (s *failing) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if s.after--; s.after < 0 {
		return nil, dibs.Unavailable(errors.New("the engine is gone"))
	}
	return s.Store.Commit(ctx, groups)
}

func (s *failing) Close() error { return nil }

// A person is forgotten while other callers take and give up names: epochs never go back, and in the
// end nothing is left of the person.
func TestForgetBesideOtherCallers(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixtureOn(t, dibs.Config{Policies: coretest.Forgetful(), Writers: 4}, func(engine *memstore.Store) dibs.Store { return engine })
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range 60 {
				value := fmt.Sprintf("n%d", i%7)
				who := coretest.Alice
				if worker%2 == 1 {
					who = dibs.Entity{Type: "user", ID: fmt.Sprintf("other-%d-%d", worker, i)}
				}
				_, _ = f.Rename(f.Ctx, dibs.Rename{Namespace: "slug", Value: value, Entity: who, CorrelationID: who.ID})
				if i%5 == 0 {
					_, _ = f.Forget(f.Ctx, dibs.ForgetRequest{Entity: coretest.Alice})
				}
				if i%3 == 0 {
					_, _ = f.Delete(f.Ctx, dibs.Delete{Entity: who})
				}
			}
		})
	}
	group.Wait()
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	f.WantNoTrace("alice")
	epochs := make(map[dibs.ID]uint64)
	for _, e := range f.AllEvents() {
		if e.Epoch < epochs[e.ID] {
			t.Errorf("the epoch of %s went back to %d", e.Key(), e.Epoch)
		}
		epochs[e.ID] = e.Epoch
	}
}

// feedStore calls then once, after the feed was read.
type feedStore struct {
	*memstore.Store
	then func()
}

func (s *feedStore) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	page, err := s.Store.Events(ctx, query)
	if then := s.then; then != nil && query.Name.IsZero() {
		s.then = nil
		then()
	}
	return page, err
}

// A name that the person gets while Forget runs takes another round, which keeps what the first round
// found about the entity itself.
func TestForgetWhileThePersonGetsAName(t *testing.T) {
	t.Parallel()
	store := new(feedStore)
	f := archivedOften(t, func(engine *memstore.Store) dibs.Store { store.Store = engine; return store })
	store.then = func() { f.Must(coretest.Claim("slug", "two", coretest.Alice)) }
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	f.WantNoTrace(coretest.Alice.ID)
}

// A Forget that was interrupted during the events about the entity can be completed after the entity's
// record is gone.
func TestForgetIsCompletedLate(t *testing.T) {
	t.Parallel()
	store := new(redactStore)
	f := archivedOften(t, func(engine *memstore.Store) dibs.Store { store.Store = engine; return store })
	store.after = 1
	if _, err := f.Forget(f.Ctx, dibs.ForgetRequest{Entity: coretest.Alice}); err == nil {
		t.Fatal("it was not interrupted")
	}
	store.after = 0
	f.Clock.Advance(31 * 24 * time.Hour)
	f.SweepAll()
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	f.WantNoTrace(coretest.Alice.ID)
}

// historyStore counts how often the history of a name is read.
type historyStore struct {
	*memstore.Store
	reads int
}

func (s *historyStore) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	if !query.Name.IsZero() {
		s.reads++
	}
	return s.Store.Events(ctx, query)
}

// A long history is read once, although each commit redacts only few of its events.
func TestForgetReadsAHistoryOnce(t *testing.T) {
	t.Parallel()
	store := new(historyStore)
	f := coretest.NewFixtureOn(t, dibs.Config{Policies: coretest.Forgetful()}, func(engine *memstore.Store) dibs.Store {
		store.Store = engine
		return store
	})
	f.Must(coretest.Claim("slug", "x", coretest.Alice))
	for range 50 {
		f.Must(dibs.Transfer{Namespace: "slug", Value: "x", From: coretest.Alice, To: coretest.User2})
		f.Must(dibs.Transfer{Namespace: "slug", Value: "x", From: coretest.User2, To: coretest.Alice})
	}
	f.Must(dibs.Transfer{Namespace: "slug", Value: "x", From: coretest.Alice, To: coretest.User2})
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	reads := store.reads
	f.WantNoTrace(coretest.Alice.ID)
	if reads > 2 { // the second round finds the event of the forgetting itself
		t.Errorf("the history was read %d times", reads)
	}
}

// archivedOften returns a fixture in which Alice has a name, and has more events about herself than
// one commit redacts.
func archivedOften(t *testing.T, wrap func(engine *memstore.Store) dibs.Store) *coretest.Fixture {
	f := coretest.NewFixtureOn(t, dibs.Config{Policies: coretest.Forgetful()}, wrap)
	f.Must(coretest.Claim("slug", "one", coretest.Alice))
	for range 6 {
		f.Must(dibs.Archive{Entity: coretest.Alice}, dibs.Restore{Entity: coretest.Alice})
	}
	return f
}

// redactStore fails after a number of commits that redact. Zero means that it does not fail.
type redactStore struct {
	*memstore.Store
	after, redacted int
}

func (s *redactStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if len(groups) > 0 && len(groups[0].Redacts) > 0 && s.after > 0 {
		if s.redacted++; s.redacted > s.after {
			return nil, dibs.Unavailable(errors.New("the engine is gone"))
		}
	}
	return s.Store.Commit(ctx, groups)
}
