package rules_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// A sweeper may be told of what another one has done already: it looks again, and
// leaves alone what is not due, or not there.
func TestSweepTooLate(t *testing.T) {
	t.Parallel()
	f, s := coretest.NewSpy(t)
	f.Must(coretest.Claim("slug", "mine", coretest.User1), coretest.Claim("slug", "gone", coretest.User2), coretest.Reserve("slug", "held", coretest.Token1))
	f.Must(coretest.Reserve("slug", "let go", coretest.Token1), dibs.Release{ID: dibs.NameID("slug", "let go"), Token: coretest.Token1})
	f.Must(dibs.Delete{Entity: coretest.User2})
	f.Refused(dibs.ErrNameTaken, coretest.Claim("slug", "mine", coretest.User3))
	if _, err := f.Conflicts(f.Ctx, dibs.ConflictsQuery{}); err != nil { // stores the counter
		t.Fatal(err)
	}
	refs := []dibs.Ref{
		{Kind: dibs.KindName, ID: dibs.NameID("slug", "nobody's")},
		{Kind: dibs.KindEntity, ID: dibs.EntityID("", coretest.User1)},
		{Kind: dibs.KindEntity, ID: dibs.EntityID("", coretest.User2)},
		{Kind: dibs.KindEntity, ID: dibs.EntityID("", coretest.User3)},
		{Kind: dibs.KindTally, ID: dibs.NameID("no", "tally")},
	}
	for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindTally} {
		records, err := f.Engine.List(f.Ctx, dibs.ListQuery{Kind: kind, Limit: 100})
		if err != nil || len(records) == 0 {
			t.Fatal(err, len(records))
		}
		for _, r := range records {
			refs = append(refs, r.Ref())
		}
	}
	load := func() []any {
		loaded, err := f.Engine.Load(f.Ctx, refs)
		if err != nil {
			t.Fatal(err)
		}
		return []any{loaded.Records, f.AllEvents()}
	}
	before := load()
	s.DueRefs = refs
	if r := f.SweepAll(); r.Looked != len(refs) || r.Changed != 0 {
		t.Errorf("the sweep reports %+v", r)
	}
	if !reflect.DeepEqual(before, load()) {
		t.Error("it changed something that is not due")
	}
}

// Counters of refused attempts go when their history is over.
func TestSweepTallies(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Claim("slug", "mine", coretest.User1))
	f.Refused(dibs.ErrNameTaken, coretest.Claim("slug", "mine", coretest.User2))
	count := func() int {
		buckets, err := f.Conflicts(f.Ctx, dibs.ConflictsQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return len(buckets)
	}
	count() // stores it
	f.Clock.Advance(90*24*time.Hour - time.Millisecond)
	f.SweepAll()
	if n := count(); n != 1 {
		t.Errorf("%d counters, want 1", n)
	}
	f.Clock.Advance(time.Millisecond)
	f.SweepAll()
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
	f := coretest.NewFixture(t, policies)
	f.Must(coretest.Reserve("slug", "x", coretest.Token1))
	f.Clock.Advance(aHold)
	late := coretest.MustOpen(t, &eager{f.Engine, []dibs.Ref{{Kind: dibs.KindName, ID: dibs.NameID("slug", "x")}}}, dibs.Config{Policies: policies})
	f.SweepAll()
	if _, err := late.Sweep(f.Ctx, 1); err != nil {
		t.Fatal(err)
	}
	if asked != 1 {
		t.Errorf("the witness was asked %d times", asked)
	}
}
