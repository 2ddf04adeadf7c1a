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

// A run that fails goes on where it was, however many names there are.
func TestForgetGoesOn(t *testing.T) {
	t.Parallel()
	const names = 70
	f := coretest.NewFixture(t, coretest.Forgetful())
	for i := range names {
		f.Must(coretest.Claim("email", fmt.Sprintf("alice@%c%c", 'a'+i/10, 'a'+i%10), coretest.Alice))
	}
	for fails := 0; ; fails++ {
		g := *f
		g.Registry = coretest.MustOpen(t, &failing{Store: f.Engine, after: 1 + 7*fails}, dibs.Config{Policies: coretest.Forgetful()})
		_, err := g.Forget(f.Ctx, dibs.ForgetRequest{Entity: coretest.Alice})
		f.WantResolve("email", "alice@aa", 410, "") // from the first moment
		if err == nil {
			if fails < 3 {
				t.Fatalf("it never failed: %d", fails)
			}
			break
		}
		if !errors.Is(err, dibs.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	f.WantNoTrace("alice")
	if n := len(f.AllEvents()); n != names+1 {
		t.Errorf("%d events are left, want one for each name, and one that somebody was deleted", n)
	}
}

// failing is a store that fails after some commits.
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

// Names come and go while a person is forgotten: nobody gets a name twice, and in the end
// nothing is left.
func TestForgetWhileOthersWork(t *testing.T) {
	t.Parallel()
	c := coretest.NewClock()
	store := memstore.New(memstore.Config{Now: c.Now})
	f := &coretest.Fixture{T: t, Ctx: t.Context(), Engine: store, Clock: c}
	f.Registry = coretest.MustOpen(t, store, dibs.Config{Policies: coretest.Forgetful(), Writers: 4})
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

// lookedAt does something once, when somebody has read the feed.
type lookedAt struct {
	*memstore.Store
	then func()
}

func (s *lookedAt) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	page, err := s.Store.Events(ctx, query)
	if then := s.then; then != nil && query.Name.IsZero() {
		s.then = nil
		then()
	}
	return page, err
}

// A name that comes while a person is forgotten makes for another round, and that does not
// lose what the first one found about the entity as a whole.
func TestForgetWhoComesBackMeanwhile(t *testing.T) {
	t.Parallel()
	c := coretest.NewClock()
	store := &lookedAt{Store: memstore.New(memstore.Config{Now: c.Now})}
	f := &coretest.Fixture{T: t, Ctx: t.Context(), Engine: store.Store, Clock: c}
	f.Registry = coretest.MustOpen(t, store, dibs.Config{Policies: coretest.Forgetful()})
	f.Must(coretest.Claim("slug", "one", coretest.Alice))
	for range 6 { // more than are redacted at once
		f.Must(dibs.Archive{Entity: coretest.Alice}, dibs.Restore{Entity: coretest.Alice})
	}
	store.then = func() { f.Must(coretest.Claim("slug", "two", coretest.Alice)) }
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	f.WantNoTrace(coretest.Alice.ID)
}

// A run that was interrupted among the events about the entity is finished also when the
// entity's record is gone by then.
func TestForgetIsFinishedLate(t *testing.T) {
	t.Parallel()
	c := coretest.NewClock()
	store := memstore.New(memstore.Config{Now: c.Now})
	breaking := &breakingStore{Store: store}
	f := &coretest.Fixture{T: t, Ctx: t.Context(), Engine: store, Clock: c}
	f.Registry = coretest.MustOpen(t, breaking, dibs.Config{Policies: coretest.Forgetful()})
	f.Must(coretest.Claim("slug", "one", coretest.Alice))
	for range 6 {
		f.Must(dibs.Archive{Entity: coretest.Alice}, dibs.Restore{Entity: coretest.Alice})
	}
	breaking.after = 1
	if _, err := f.Forget(f.Ctx, dibs.ForgetRequest{Entity: coretest.Alice}); err == nil {
		t.Fatal("it was not interrupted")
	}
	breaking.after = 0
	c.Advance(31 * 24 * time.Hour)
	f.SweepAll()
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	f.WantNoTrace(coretest.Alice.ID)
}

// breakingStore fails after so many commits that redact.
type breakingStore struct {
	*memstore.Store
	after, redacted int
}

func (s *breakingStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if len(groups) > 0 && len(groups[0].Redacts) > 0 && s.after > 0 {
		if s.redacted++; s.redacted > s.after {
			return nil, dibs.Unavailable(errors.New("it broke"))
		}
	}
	return s.Store.Commit(ctx, groups)
}
