package rules_test

import (
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/rules"
)

// What a name inherited from a hold of the person's is forgotten in each of its later events, also if
// they are too many for one commit.
func TestForgetInheritedDetailsInALongHistory(t *testing.T) {
	t.Parallel()
	for _, renames := range []int{1, 3, 4, 5, 30} {
		f := coretest.NewFixture(t, nil)
		f.ActAs("shop of alice", 0).Must(dibs.Claim{
			Namespace: "slug", Value: "x", Entity: coretest.Alice, CorrelationID: "order of alice", Meta: map[string]string{"for": "alice"},
		})
		f.Must(dibs.Transfer{Namespace: "slug", Value: "x", From: coretest.Alice, To: coretest.User2})
		for range renames {
			f.Must(coretest.Rename("slug", "y", coretest.User2))
			f.Must(coretest.Rename("slug", "x", coretest.User2))
		}
		f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
		if left := f.Traces("alice"); len(left) > 0 {
			t.Errorf("after %d renames %d records and events have a trace, such as %s", renames, len(left), left[0])
		}
		f.WantActive(coretest.User2, "x")
	}
}

// A name that the person gave away, and that another row has since the rules changed, keeps nothing of the
// person's hold: neither in one row nor in the other, with a correlation ID or without, after one change of the rules or more.
func TestForgetWhatANameTookWithIt(t *testing.T) {
	t.Parallel()
	for _, correlation := range []string{"", "order of alice"} {
		for _, changes := range []int{1, 2, 3} {
			f := coretest.NewFixture(t, coretest.ExactSlugs())
			f.ActAs("shop of alice", 0).Must(dibs.Claim{
				Namespace: "slug", Value: "X", Entity: coretest.Alice, CorrelationID: correlation, Meta: map[string]string{"for": "alice"},
			})
			f.Must(dibs.Transfer{Namespace: "slug", Value: "X", From: coretest.Alice, To: coretest.User2})
			g := f
			for i := range changes {
				g = g.Reopened([]map[string]dibs.Policy{coretest.FoldedSlugs(), coretest.ExactSlugs()}[i%2])
				g.MustRecanonicalize(false)
			}
			g.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
			if left := g.Traces("alice"); len(left) > 0 {
				t.Errorf("%q, after %d changes of the rules: %d records and events have a trace, such as %s", correlation, changes, len(left), left[0])
			}
		}
	}
}

// The next owner of a name that moved keeps the details of its own hold.
func TestForgetLeavesTheNextOwnersDetails(t *testing.T) {
	t.Parallel()
	next := dibs.Claim{Namespace: "slug", Value: "X", Entity: coretest.User2, CorrelationID: "of another"}
	for what, life := range map[string]func(f *coretest.Fixture) *coretest.Fixture{
		"before it moved": func(f *coretest.Fixture) *coretest.Fixture {
			f.Must(coretest.Decommission("slug", "X", coretest.Alice))
			f.Must(next)
			g := f.Reopened(coretest.FoldedSlugs())
			g.MustRecanonicalize(false)
			return g
		},
		"after it moved": func(f *coretest.Fixture) *coretest.Fixture {
			f.Must(dibs.Transfer{Namespace: "slug", Value: "X", From: coretest.Alice, To: coretest.User3})
			g := f.Reopened(coretest.FoldedSlugs())
			g.MustRecanonicalize(false)
			g.Must(coretest.Decommission("slug", "x", coretest.User3))
			g.Must(next)
			return g
		},
	} {
		f := coretest.NewFixture(t, coretest.ExactSlugs())
		f.Must(dibs.Claim{Namespace: "slug", Value: "X", Entity: coretest.Alice, CorrelationID: "of alice"})
		g := life(f)
		g.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
		g.WantNoTrace("alice")
		if left := g.Traces("of another"); len(left) < 2 {
			t.Errorf("%s: of the details of the next owner is left: %v", what, left)
		}
		if again := g.MustForget(dibs.ForgetRequest{Entity: coretest.Alice}); !again.Replayed {
			t.Errorf("%s: forgotten again: %+v", what, again)
		}
	}
}

// A name whose end is not recorded yet: what the history then says of it is read again.
func TestForgetRecordsEnds(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {AliasRetention: time.Hour}})
	f.Must(dibs.Claim{Namespace: "slug", Value: "x", Entity: coretest.Alice, CorrelationID: "alice's family"})
	for range 5 {
		f.Must(coretest.Rename("slug", "y", coretest.Alice), coretest.Rename("slug", "x", coretest.Alice))
	}
	f.Must(coretest.Decommission("slug", "x", coretest.Alice))
	f.Must(dibs.Claim{Namespace: "slug", Value: "x", Entity: coretest.User2, CorrelationID: "alice's family"})
	f.Must(coretest.Rename("slug", "z", coretest.User2))
	f.Clock.Advance(time.Hour) // the alias has ended
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	for _, e := range f.HistoryOf("slug", "x") {
		if e.CorrelationID != "" && e.Kind != dibs.EventForgotten { // which has what the row has
			t.Errorf("%+v", e)
		}
	}
	f.WantState("slug", "x", dibs.Free)
}

// A hold that moved into a row of which the person was the last owner keeps its token.
func TestForgetLeavesAMovedHold(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "x", coretest.Alice), coretest.Decommission("slug", "x", coretest.Alice))
	hold := f.One(coretest.Reserve("slug", "X", coretest.Token1))
	g := f.Reopened(coretest.FoldedSlugs())
	g.MustRecanonicalize(false)
	g.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	g.WantNoTrace("alice")
	g.Must(dibs.Confirm{ID: hold.ID, Token: coretest.Token1, Entity: coretest.User2})
}

// The record of an entity is forgotten once the entity has no names, with its events or without.
func TestForgetEntityRecord(t *testing.T) {
	t.Parallel()
	set := mustPolicies(t, nil)
	who := rules.Person{Entity: coretest.Alice}
	try := func(f *coretest.Fixture, events []dibs.Event) rules.ForgottenEntity {
		t.Helper()
		job := set.ForgetEntity(who, events)
		commit(f, job.Request)
		result, refused := job.Result()
		if refused != nil {
			t.Fatal(refused)
		}
		return result
	}
	archived := func(f *coretest.Fixture) (events []dibs.Event) {
		for _, e := range f.AllEvents() {
			if e.Kind == dibs.EventArchived {
				events = append(events, e)
			}
		}
		return events
	}
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {AliasRetention: time.Hour}})
	if got := try(f, nil); got != (rules.ForgottenEntity{}) {
		t.Errorf("unknown: %+v", got)
	}
	f.Must(coretest.Claim("slug", "x", coretest.Alice), coretest.Rename("slug", "y", coretest.Alice), coretest.Decommission("slug", "y", coretest.Alice))
	if got := try(f, nil); got != (rules.ForgottenEntity{HasNames: true}) {
		t.Errorf("with a name: %+v", got)
	}
	f.Clock.Advance(time.Hour) // its alias has ended, and is still listed
	f.Must(dibs.Archive{Entity: coretest.Alice})
	for _, c := range []struct {
		what    string
		events  []dibs.Event
		changed bool
	}{{"without events", nil, true}, {"again", nil, false}, {"with events", archived(f), true}, {"again", nil, false}} {
		if got := try(f, c.events); got != (rules.ForgottenEntity{Changed: c.changed}) {
			t.Errorf("%s: %+v", c.what, got)
		}
	}
	for _, e := range archived(f) {
		if !e.Entity.IsZero() || e.Version != 0 {
			t.Errorf("%+v", e)
		}
	}
}

// A reader of events sees no label in place of a name that was forgotten.
func TestHideForgotten(t *testing.T) {
	t.Parallel()
	id := dibs.NameID("slug", "x")
	events := rules.HideForgotten([]dibs.Event{
		{ID: id, Canonical: rules.ForgottenLabel(id), Value: rules.ForgottenLabel(id)}, {ID: id, Canonical: "x", Value: "X"},
	})
	if events[0].Canonical != "" || events[0].Value != "" || events[1].Canonical != "x" || events[1].Value != "X" {
		t.Errorf("%+v", events)
	}
}
