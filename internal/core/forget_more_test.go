package core_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// What a name was called before the rules changed is forgotten with it.
func TestForgetMovedNames(t *testing.T) {
	t.Parallel()
	for _, request := range []dibs.ForgetRequest{{Entity: alice}, {Namespace: "slug", Value: "alice", Entity: alice}} {
		f := newFixture(t, exactly())
		f.must(claim("slug", "Alice", alice), claim("slug", "Other", user2))
		g := f.reopened(folded())
		g.recanonicalize(false)
		report := g.forget(request)
		if len(report.Erased) == 0 {
			t.Errorf("%+v", report)
		}
		g.wantNoTrace(`"alice"`) // as a value or a canonical form
		if request.Namespace == "" {
			g.wantNoTrace("alice")
		}
		g.wantLeads("slug", "OTHER", 200, "")
		// Other rules once more: nobody knows what to make of a tombstone.
		h := f.reopened(exactly())
		h.recanonicalize(false)
		h.wantLeads("slug", "Other", 200, "")
	}
}

func TestForgetBlindNames(t *testing.T) {
	t.Parallel()
	f := newFixture(t, blind(keyA))
	f.must(claim("email", secretValue, alice))
	hash := f.name("email", secretValue).Canonical
	f.forget(dibs.ForgetRequest{Entity: alice})
	f.refused(dibs.ErrNameTaken, dibs.Reserve{Namespace: "email", Value: secretValue})

	// A new key: the name is still kept back under the old one, and can be filed under both.
	g := f.reopened(blind(keyB, keyA))
	g.refused(dibs.ErrNameTaken, dibs.Reserve{Namespace: "email", Value: secretValue})
	if _, err := g.Rekey(g.ctx, dibs.Rekey{Namespace: "email", Value: secretValue}); err != nil {
		t.Fatal(err)
	}
	h := f.reopened(blind(keyB))
	h.refused(dibs.ErrNameTaken, dibs.Reserve{Namespace: "email", Value: secretValue})
	f.clock.advance(time.Minute)
	if n := h.one(claim("email", secretValue, user2)); n.Epoch != 2 {
		t.Errorf("it came back as %+v", n)
	}
	h.forget(dibs.ForgetRequest{Namespace: "email", Value: secretValue, Entity: user2})
	f.clock.advance(2 * time.Hour)
	h.sweep()
	h.wantNoTrace(hash)
	for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindHash, dibs.KindSkeleton} {
		if records, _ := f.store.List(f.ctx, dibs.ListQuery{Kind: kind, Limit: 9}); len(records) > 0 {
			t.Errorf("there is still %+v", records[0])
		}
	}
}

// A long history of another one's name loses the person, event by event, in place.
func TestForgetInALongHistory(t *testing.T) {
	t.Parallel()
	f := newFixture(t, forgetful())
	f.must(claim("slug", "x", alice))
	for range 20 {
		f.must(dibs.Transfer{Namespace: "slug", Value: "x", From: alice, To: user2})
		f.must(dibs.Transfer{Namespace: "slug", Value: "x", From: user2, To: alice})
	}
	f.must(dibs.Transfer{Namespace: "slug", Value: "x", From: alice, To: user2})
	before := f.events()
	plan := f.forget(dibs.ForgetRequest{Entity: alice, DryRun: true})
	report := f.forget(dibs.ForgetRequest{Entity: alice})
	if !slices.Equal(keysOf(plan.Redacted), []string{"slug:x"}) || !slices.Equal(keysOf(report.Redacted), []string{"slug:x"}) {
		t.Errorf("planned %+v, did %+v", plan, report)
	}
	f.wantNoTrace("alice")
	after := f.events()
	for i, e := range before {
		if a := after[i]; a.Cursor != e.Cursor || a.Kind != e.Kind || a.Rev != e.Rev || a.Epoch != e.Epoch || a.Canonical != "x" {
			t.Fatalf("event %d was %+v, and is %+v", i, e, a)
		}
		if e.Entity == user2 && after[i].Entity != user2 {
			t.Errorf("event %d has lost somebody else: %+v", i, after[i])
		}
	}
}

// Names come and go while a person is forgotten: nobody gets a name twice, and in the end
// nothing is left.
func TestForgetWhileOthersWork(t *testing.T) {
	t.Parallel()
	c := newClock()
	store := memstore.New(memstore.Config{Now: c.Now})
	f := &fixture{t: t, ctx: t.Context(), store: store, clock: c}
	f.Registry = mustOpen(t, store, dibs.Config{Policies: forgetful(), Writers: 4})
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range 60 {
				value := fmt.Sprintf("n%d", i%7)
				who := alice
				if worker%2 == 1 {
					who = dibs.Entity{Type: "user", ID: fmt.Sprintf("other-%d-%d", worker, i)}
				}
				_, _ = f.Rename(f.ctx, dibs.Rename{Namespace: "slug", Value: value, Entity: who, CorrelationID: who.ID})
				if i%5 == 0 {
					_, _ = f.Forget(f.ctx, dibs.ForgetRequest{Entity: alice})
				}
				if i%3 == 0 {
					_, _ = f.Delete(f.ctx, dibs.Delete{Entity: who})
				}
			}
		})
	}
	group.Wait()
	f.forget(dibs.ForgetRequest{Entity: alice})
	f.wantNoTrace("alice")
	epochs := make(map[dibs.ID]uint64)
	for _, e := range f.events() {
		if e.Epoch < epochs[e.ID] {
			t.Errorf("the epoch of %s went back to %d", e.Key(), e.Epoch)
		}
		epochs[e.ID] = e.Epoch
	}
}

// A name that was never confirmed leaves nothing behind but a floor.
func TestPurgeLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, blind(keyA))
	r := dibs.Reserve{
		Namespace: "email", Value: "lapsed@example.org", Token: token1, Entity: alice,
		CorrelationID: "order of alice", Meta: map[string]string{"by": "alice"},
	}
	plain := r
	plain.Namespace = "plain"
	epochs := []uint64{f.one(r).Epoch, f.one(plain).Epoch}
	f.clock.advance(dibs.DefaultTTL + 31*24*time.Hour)
	for f.sweep().Changed > 0 { // it ends, and then it is purged
		continue
	}
	f.wantNoTrace("alice")
	f.wantNoTrace("lapsed@example.org")
	if len(f.events()) > 0 {
		t.Errorf("%d events are left", len(f.events()))
	}
	for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindHash, dibs.KindSkeleton} {
		if records, _ := f.store.List(f.ctx, dibs.ListQuery{Kind: kind, Limit: 9}); len(records) > 0 {
			t.Errorf("there is still %+v", records[0])
		}
	}
	for i, again := range []dibs.Reserve{r, plain} {
		if n := f.one(again); n.Epoch <= epochs[i] {
			t.Errorf("%s has epoch %d again", n.Key(), n.Epoch)
		}
	}
}

// Another name may come into the row of a forgotten one when the rules change: it is that
// name's then, and no tombstone.
func TestForgottenRowIsMovedInto(t *testing.T) {
	t.Parallel()
	f := newFixture(t, exactly())
	f.must(claim("slug", "alice", alice), claim("slug", "ALICE", user2))
	before := f.name("slug", "alice")
	f.forget(dibs.ForgetRequest{Entity: alice})
	f.clock.advance(time.Hour)
	g := f.reopened(folded())
	g.recanonicalize(false)
	g.wantLeads("slug", "alice", 200, "")
	if n := g.name("slug", "alice"); n.ID != before.ID || n.Value != "ALICE" || n.Canonical != "alice" || n.Entity != user2 || n.Epoch <= before.Epoch {
		t.Errorf("it is %+v", n)
	}
	g.wantNoTrace(alice.ID)
	for _, e := range g.events() {
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
	c := newClock()
	store := &lookedAt{Store: memstore.New(memstore.Config{Now: c.Now})}
	f := &fixture{t: t, ctx: t.Context(), store: store.Store, clock: c}
	f.Registry = mustOpen(t, store, dibs.Config{Policies: forgetful()})
	f.must(claim("slug", "one", alice))
	for range 6 { // more than are redacted at once
		f.must(dibs.Archive{Entity: alice}, dibs.Restore{Entity: alice})
	}
	store.then = func() { f.must(claim("slug", "two", alice)) }
	f.forget(dibs.ForgetRequest{Entity: alice})
	f.wantNoTrace(alice.ID)
}

// A run that was interrupted among the events about the entity is finished also when the
// entity's record is gone by then.
func TestForgetIsFinishedLate(t *testing.T) {
	t.Parallel()
	c := newClock()
	store := memstore.New(memstore.Config{Now: c.Now})
	breaking := &breakingStore{Store: store}
	f := &fixture{t: t, ctx: t.Context(), store: store, clock: c}
	f.Registry = mustOpen(t, breaking, dibs.Config{Policies: forgetful()})
	f.must(claim("slug", "one", alice))
	for range 6 {
		f.must(dibs.Archive{Entity: alice}, dibs.Restore{Entity: alice})
	}
	breaking.after = 1
	if _, err := f.Forget(f.ctx, dibs.ForgetRequest{Entity: alice}); err == nil {
		t.Fatal("it was not interrupted")
	}
	breaking.after = 0
	c.advance(31 * 24 * time.Hour)
	f.sweep()
	f.forget(dibs.ForgetRequest{Entity: alice})
	f.wantNoTrace(alice.ID)
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
