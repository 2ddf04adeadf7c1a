package core_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// A sweeper may be told of what another one has done already: it looks again, and
// leaves alone what is not due, or not there.
func TestSweepTooLate(t *testing.T) {
	t.Parallel()
	f, s := newSpy(t)
	f.must(claim("slug", "mine", user1), claim("slug", "gone", user2), reserve("slug", "held", token1))
	f.must(reserve("slug", "let go", token1), dibs.Release{ID: dibs.NameID("slug", "let go"), Token: token1})
	f.must(dibs.Delete{Entity: user2})
	f.refused(dibs.ErrNameTaken, claim("slug", "mine", user3))
	if _, err := f.Conflicts(f.ctx, dibs.ConflictsQuery{}); err != nil { // stores the counter
		t.Fatal(err)
	}
	refs := []dibs.Ref{
		{Kind: dibs.KindName, ID: dibs.NameID("slug", "nobody's")},
		{Kind: dibs.KindEntity, ID: dibs.EntityID("", user1)},
		{Kind: dibs.KindEntity, ID: dibs.EntityID("", user2)},
		{Kind: dibs.KindEntity, ID: dibs.EntityID("", user3)},
		{Kind: dibs.KindTally, ID: dibs.NameID("no", "tally")},
	}
	for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindTally} {
		records, err := f.store.List(f.ctx, dibs.ListQuery{Kind: kind, Limit: 100})
		if err != nil || len(records) == 0 {
			t.Fatal(err, len(records))
		}
		for _, r := range records {
			refs = append(refs, r.Ref())
		}
	}
	load := func() []any {
		loaded, err := f.store.Load(f.ctx, refs)
		if err != nil {
			t.Fatal(err)
		}
		return []any{loaded.Records, f.events()}
	}
	before := load()
	s.due = refs
	if r := f.sweep(); r.Looked != len(refs) || r.Changed != 0 {
		t.Errorf("the sweep reports %+v", r)
	}
	if !reflect.DeepEqual(before, load()) {
		t.Error("it changed something that is not due")
	}
}

// Counters of refused attempts go when their history is over.
func TestSweepTallies(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.must(claim("slug", "mine", user1))
	f.refused(dibs.ErrNameTaken, claim("slug", "mine", user2))
	count := func() int {
		buckets, err := f.Conflicts(f.ctx, dibs.ConflictsQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return len(buckets)
	}
	count() // stores it
	f.clock.advance(90*24*time.Hour - time.Millisecond)
	f.sweep()
	if n := count(); n != 1 {
		t.Errorf("%d counters, want 1", n)
	}
	f.clock.advance(time.Millisecond)
	f.sweep()
	if n := count(); n != 0 {
		t.Errorf("%d counters, want none", n)
	}
}

// eager is a store that says of some records that they are due, whenever it is asked.
type eager struct {
	dibs.Store
	refs []dibs.Ref
}

func (e *eager) Due(context.Context, int) ([]dibs.Ref, error) { return e.refs, nil }

// Of two sweepers that are told of one suspect, the second finds that its witness has
// just been asked, and leaves it alone.
func TestSweepAsksOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	policies := map[string]dibs.Policy{"slug": {Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) {
		asked++
		return dibs.Unknown, nil
	}}}
	f := newFixture(t, policies)
	f.must(reserve("slug", "x", token1))
	f.clock.advance(aHold)
	late := mustOpen(t, &eager{f.store, []dibs.Ref{{Kind: dibs.KindName, ID: dibs.NameID("slug", "x")}}}, dibs.Config{Policies: policies})
	f.sweep()
	if _, err := late.Sweep(f.ctx, 1); err != nil {
		t.Fatal(err)
	}
	if asked != 1 {
		t.Errorf("the witness was asked %d times", asked)
	}
}
