package rules_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// What a name was called before the rules changed is forgotten with it.
func TestForgetMovedNames(t *testing.T) {
	t.Parallel()
	for _, request := range []dibs.ForgetRequest{{Entity: coretest.Alice}, {Namespace: "slug", Value: "alice", Entity: coretest.Alice}} {
		f := coretest.NewFixture(t, exactly())
		f.Must(coretest.Claim("slug", "Alice", coretest.Alice), coretest.Claim("slug", "Other", coretest.User2))
		g := f.Reopened(folded())
		g.MustRecanonicalize(false)
		report := g.MustForget(request)
		if len(report.Erased) == 0 {
			t.Errorf("%+v", report)
		}
		g.WantNoTrace(`"alice"`) // as a value or a canonical form
		if request.Namespace == "" {
			g.WantNoTrace("alice")
		}
		g.WantLeads("slug", "OTHER", 200, "")
		// Other rules once more: nobody knows what to make of a tombstone.
		h := f.Reopened(exactly())
		h.MustRecanonicalize(false)
		h.WantLeads("slug", "Other", 200, "")
	}
}

func TestForgetBlindNames(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, blind(keyA))
	f.Must(coretest.Claim("email", secretValue, coretest.Alice))
	hash := f.NameOf("email", secretValue).Canonical
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	f.Refused(dibs.ErrNameTaken, dibs.Reserve{Namespace: "email", Value: secretValue})

	// A new key: the name is still kept back under the old one, and can be filed under both.
	g := f.Reopened(blind(keyB, keyA))
	g.Refused(dibs.ErrNameTaken, dibs.Reserve{Namespace: "email", Value: secretValue})
	if _, err := g.Rekey(g.Ctx, dibs.Rekey{Namespace: "email", Value: secretValue}); err != nil {
		t.Fatal(err)
	}
	h := f.Reopened(blind(keyB))
	h.Refused(dibs.ErrNameTaken, dibs.Reserve{Namespace: "email", Value: secretValue})
	f.Clock.Advance(time.Minute)
	if n := h.One(coretest.Claim("email", secretValue, coretest.User2)); n.Epoch != 2 {
		t.Errorf("it came back as %+v", n)
	}
	h.MustForget(dibs.ForgetRequest{Namespace: "email", Value: secretValue, Entity: coretest.User2})
	f.Clock.Advance(2 * time.Hour)
	h.SweepAll()
	h.WantNoTrace(hash)
	for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindHash, dibs.KindSkeleton} {
		if records, _ := f.Engine.List(f.Ctx, dibs.ListQuery{Kind: kind, Limit: 9}); len(records) > 0 {
			t.Errorf("there is still %+v", records[0])
		}
	}
}

// A long history of another one's name loses the person, event by event, in place.
func TestForgetInALongHistory(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, forgetful())
	f.Must(coretest.Claim("slug", "x", coretest.Alice))
	for range 20 {
		f.Must(dibs.Transfer{Namespace: "slug", Value: "x", From: coretest.Alice, To: coretest.User2})
		f.Must(dibs.Transfer{Namespace: "slug", Value: "x", From: coretest.User2, To: coretest.Alice})
	}
	f.Must(dibs.Transfer{Namespace: "slug", Value: "x", From: coretest.Alice, To: coretest.User2})
	before := f.AllEvents()
	plan := f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice, DryRun: true})
	report := f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	if !slices.Equal(keysOf(plan.Redacted), []string{"slug:x"}) || !slices.Equal(keysOf(report.Redacted), []string{"slug:x"}) {
		t.Errorf("planned %+v, did %+v", plan, report)
	}
	f.WantNoTrace("alice")
	after := f.AllEvents()
	for i, e := range before {
		if a := after[i]; a.Cursor != e.Cursor || a.Kind != e.Kind || a.Rev != e.Rev || a.Epoch != e.Epoch || a.Canonical != "x" {
			t.Fatalf("event %d was %+v, and is %+v", i, e, a)
		}
		if e.Entity == coretest.User2 && after[i].Entity != coretest.User2 {
			t.Errorf("event %d has lost somebody else: %+v", i, after[i])
		}
	}
}

// Names come and go while a person is forgotten: nobody gets a name twice, and in the end
// nothing is left.
func TestForgetWhileOthersWork(t *testing.T) {
	t.Parallel()
	c := coretest.NewClock()
	store := memstore.New(memstore.Config{Now: c.Now})
	f := &coretest.Fixture{T: t, Ctx: t.Context(), Engine: store, Clock: c}
	f.Registry = coretest.MustOpen(t, store, dibs.Config{Policies: forgetful(), Writers: 4})
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

// A name that was never confirmed leaves nothing behind but a floor.
func TestPurgeLeavesNothing(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, blind(keyA))
	r := dibs.Reserve{
		Namespace: "email", Value: "lapsed@example.org", Token: coretest.Token1, Entity: coretest.Alice,
		CorrelationID: "order of alice", Meta: map[string]string{"by": "alice"},
	}
	plain := r
	plain.Namespace = "plain"
	epochs := []uint64{f.One(r).Epoch, f.One(plain).Epoch}
	f.Clock.Advance(dibs.DefaultTTL + 31*24*time.Hour)
	for f.SweepAll().Changed > 0 { // it ends, and then it is purged
		continue
	}
	f.WantNoTrace("alice")
	f.WantNoTrace("lapsed@example.org")
	if len(f.AllEvents()) > 0 {
		t.Errorf("%d events are left", len(f.AllEvents()))
	}
	for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindHash, dibs.KindSkeleton} {
		if records, _ := f.Engine.List(f.Ctx, dibs.ListQuery{Kind: kind, Limit: 9}); len(records) > 0 {
			t.Errorf("there is still %+v", records[0])
		}
	}
	for i, again := range []dibs.Reserve{r, plain} {
		if n := f.One(again); n.Epoch <= epochs[i] {
			t.Errorf("%s has epoch %d again", n.Key(), n.Epoch)
		}
	}
}

// Another name may come into the row of a forgotten one when the rules change: it is that
// name's then, and no tombstone.
func TestForgottenRowIsMovedInto(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, exactly())
	f.Must(coretest.Claim("slug", "alice", coretest.Alice), coretest.Claim("slug", "ALICE", coretest.User2))
	before := f.NameOf("slug", "alice")
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	f.Clock.Advance(time.Hour)
	g := f.Reopened(folded())
	g.MustRecanonicalize(false)
	g.WantLeads("slug", "alice", 200, "")
	if n := g.NameOf("slug", "alice"); n.ID != before.ID || n.Value != "ALICE" || n.Canonical != "alice" || n.Entity != coretest.User2 || n.Epoch <= before.Epoch {
		t.Errorf("it is %+v", n)
	}
	g.WantNoTrace(coretest.Alice.ID)
	for _, e := range g.AllEvents() {
		if e.ID == before.ID && e.Canonical != "alice" {
			t.Errorf("the history has %+v", e)
		}
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
	f.Registry = coretest.MustOpen(t, store, dibs.Config{Policies: forgetful()})
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
	f.Registry = coretest.MustOpen(t, breaking, dibs.Config{Policies: forgetful()})
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
