package rules_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

func forgetful() map[string]dibs.Policy {
	return map[string]dibs.Policy{
		"slug":  {Profile: coretest.Lower{}, HoldHistory: time.Hour, MaxHolds: 10},
		"email": {Profile: coretest.Lower{}, HoldHistory: time.Hour, Quarantine: 24 * time.Hour, ManyPerEntity: true, Skeleton: coretest.Digits{}},
	}
}

func TestForgetAPerson(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, forgetful())
	f.AliceLives()
	if len(f.Traces("alice")) < 20 {
		t.Fatal("there is not much to forget")
	}
	before, present := f.Dump(), f.NameOf("slug", "given")
	plan := f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice, DryRun: true})
	if after := f.Dump(); !reflect.DeepEqual(before, after) {
		t.Error("the plan changed something")
	}
	report := f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	f.WantNoTrace("alice")
	if fmt.Sprint(keysOf(plan.Erased), keysOf(plan.Redacted)) != fmt.Sprint(keysOf(report.Erased), keysOf(report.Redacted)) {
		t.Errorf("planned %+v, did %+v", plan, report)
	}
	erased := []string{
		"email:alice@home", "email:alice@work", "slug:alice", "slug:alice-2", "slug:alice-3", "slug:alice-is-here", "slug:alice-was-here",
	}
	if got := keysOf(report.Erased); !slices.Equal(got, erased) {
		t.Errorf("erased %v, want %v", got, erased)
	}
	if got, want := keysOf(report.Redacted), []string{"slug:first", "slug:given", "slug:swapped"}; !slices.Equal(got, want) {
		t.Errorf("redacted %v, want %v", got, want)
	}

	// What others have stays theirs, with their part of the history.
	after := f.NameOf("slug", "given")
	if after.Entity != coretest.User2 || after.State != dibs.Active || after.Epoch != present.Epoch || after.CorrelationID != "" || after.Meta != nil || after.Principal != "" {
		t.Errorf("the name of another one is %+v", after)
	}
	f.WantLeads("slug", "given", 200, "")
	f.WantLeads("slug", "swapped", 200, "")
	if got, want := f.KindsOf("slug", "first"), []dibs.EventKind{"claimed", "given_up", "claimed", "given_up", "forgotten"}; !slices.Equal(got, want) {
		t.Errorf("the history of a name that others had is %v, want %v", got, want)
	}
	f.WantFirstHeldBy(coretest.User2)

	again := f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	if !again.Replayed || len(again.Erased)+len(again.Redacted) > 0 {
		t.Errorf("forgotten again: %+v", again)
	}
}

func keysOf(names []dibs.Name) []string {
	var keys []string
	for _, n := range names {
		keys = append(keys, n.Key())
	}
	slices.Sort(keys)
	return keys
}

// A forgotten name is kept back as long as a quarantine was promised, from everybody. Then
// it is free, and its epochs go on.
func TestForgottenNamesKeepTheirPromises(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, forgetful())
	mine := f.One(coretest.Claim("email", "alice@home", coretest.Alice))
	f.Must(dibs.Transfer{Namespace: "email", Value: "alice@home", From: coretest.Alice, To: coretest.User1})
	f.Must(dibs.Transfer{Namespace: "email", Value: "alice@home", From: coretest.User1, To: coretest.Alice})
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})

	for _, entity := range []dibs.Entity{{}, coretest.Alice, coretest.User1} {
		e := f.Refused(dibs.ErrNameTaken, dibs.Reserve{Namespace: "email", Value: "Alice@Home", Entity: entity})
		if e.Reason != dibs.ReasonQuarantined || !e.Until.Equal(f.Clock.Now().Add(24*time.Hour)) {
			t.Errorf("%+v", e)
		}
		f.Refused(dibs.ErrNameTaken, dibs.Reserve{Namespace: "email", Value: "a1ice@home", Entity: entity}) // looks like it
	}
	f.WantLeads("email", "alice@home", 410, "")
	f.Refused(dibs.ErrNotFound, dibs.Release{ID: mine.ID, Token: coretest.Token1})
	if n := f.NameOf("email", "alice@home"); n.Value != "" || n.Canonical != "" || !n.Entity.IsZero() || n.Epoch != 3 {
		t.Errorf("the tombstone is %+v", n)
	}
	if kinds := f.KindsOf("email", "alice@home"); !slices.Equal(kinds, []dibs.EventKind{dibs.EventForgotten}) {
		t.Errorf("its history is %v", kinds)
	}
	holder, err := f.WhoHeld(f.Ctx, "email", "alice@home", f.Clock.Now())
	if err != nil || holder.State != dibs.Quarantined || !holder.Entity.IsZero() {
		t.Errorf("%+v, %v", holder, err)
	}

	f.Clock.Advance(24 * time.Hour)
	if n := f.One(coretest.Claim("email", "Alice@home", coretest.User2)); n.Epoch != 4 || n.Canonical != "alice@home" || n.ID != mine.ID {
		t.Errorf("it came back as %+v", n)
	}
	if kinds := f.KindsOf("email", "alice@home"); !slices.Equal(kinds, []dibs.EventKind{dibs.EventForgotten, dibs.EventClaimed}) {
		t.Errorf("its history is %v", kinds)
	}
	f.WantLeads("email", "alice@home", 200, "")
}

// When a tombstone has done its service nothing is left of it, and epochs and revisions
// still do not start over.
func TestTombstonesGo(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, forgetful())
	f.AliceLives()
	epochs := make(map[string]uint64)
	for _, n := range f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice, DryRun: true}).Erased {
		epochs[n.Key()] = n.Epoch
	}
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	revs := make(map[dibs.ID]uint64)
	for _, e := range f.AllEvents() {
		revs[e.ID] = e.Rev
	}
	f.Clock.Advance(31 * 24 * time.Hour)
	f.SweepAll()
	for key := range epochs {
		namespace, value, _ := strings.Cut(key, ":")
		if _, err := f.Get(f.Ctx, dibs.Lookup{Namespace: namespace, Value: value}); !errors.Is(err, dibs.ErrNotFound) {
			t.Errorf("%s: %v", key, err)
		}
	}
	left, err := f.Engine.Load(f.Ctx, []dibs.Ref{{Kind: dibs.KindEntity, ID: dibs.EntityID("", coretest.Alice)}})
	if err != nil || len(left.Records) > 0 {
		t.Errorf("%+v is left of the entity, %v", left.Records, err)
	}
	for _, kind := range []dibs.Kind{dibs.KindSkeleton, dibs.KindQuota} {
		if records, _ := f.Engine.List(f.Ctx, dibs.ListQuery{Kind: kind, Limit: 9}); len(records) > 0 {
			t.Errorf("there is still %+v", records[0])
		}
	}
	for key, epoch := range epochs {
		namespace, value, _ := strings.Cut(key, ":")
		if n := f.One(coretest.Claim(namespace, value, dibs.Entity{Type: "new", ID: key})); n.Epoch <= epoch {
			t.Errorf("%s has epoch %d again, it had %d", key, n.Epoch, epoch)
		}
	}
	for _, e := range f.AllEvents() {
		if e.Entity.Type == "new" && e.Rev <= revs[e.ID] {
			t.Errorf("%s has revision %d again", e.Key(), e.Rev)
		}
	}
}

func TestForgetOneName(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, forgetful())
	f.Must(coretest.Claim("email", "alice@home", coretest.Alice), coretest.Claim("email", "kept@home", coretest.Alice), coretest.Claim("slug", "over", coretest.User1), coretest.Decommission("slug", "over", coretest.User1))
	f.Must(coretest.Reserve("slug", "held", coretest.Token1))
	try := func(want error, r dibs.ForgetRequest) {
		t.Helper()
		_, err := f.Forget(f.Ctx, r)
		f.CheckError(err, want)
	}
	try(dibs.ErrNameTaken, dibs.ForgetRequest{Namespace: "email", Value: "alice@home"})
	try(dibs.ErrNotOwner, dibs.ForgetRequest{Namespace: "email", Value: "alice@home", Entity: coretest.User1})
	try(dibs.ErrNotOwner, dibs.ForgetRequest{Namespace: "slug", Value: "over", Entity: coretest.User2})
	try(dibs.ErrNameTaken, dibs.ForgetRequest{Namespace: "slug", Value: "held"})
	try(dibs.ErrNameTaken, dibs.ForgetRequest{Namespace: "slug", Value: "held", Entity: coretest.User1})
	try(dibs.ErrInvalidNamespace, dibs.ForgetRequest{Scope: "acme", Namespace: "slug", Value: "held"})
	try(dibs.ErrInvalidEntity, dibs.ForgetRequest{Namespace: "slug", Value: "held", Entity: dibs.Entity{Type: "x"}})
	try(dibs.ErrInvalidEntity, dibs.ForgetRequest{})
	try(dibs.ErrInvalidValue, dibs.ForgetRequest{Namespace: "slug"})

	r := f.MustForget(dibs.ForgetRequest{Namespace: "email", Value: "ALICE@home", Entity: coretest.Alice})
	if len(r.Erased) != 1 || r.Erased[0].State != dibs.Quarantined || r.Replayed {
		t.Errorf("%+v", r)
	}
	f.WantNoTrace("alice@home")
	if info, err := f.Entity(f.Ctx, "", coretest.Alice); err != nil || len(info.Names) != 1 || info.Names[0].Canonical != "kept@home" {
		t.Errorf("%+v, %v", info, err)
	}
	f.MustForget(dibs.ForgetRequest{Namespace: "slug", Value: "over"})
	f.WantNoTrace("over")
	for _, value := range []string{"over", "never"} {
		if r := f.MustForget(dibs.ForgetRequest{Namespace: "slug", Value: value}); !r.Replayed {
			t.Errorf("%s: %+v", value, r)
		}
	}
}

// An entity that was forgotten is one that nobody knows, and may come back.
func TestForgottenEntitiesMayComeBack(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, forgetful())
	f.Must(coretest.Claim("slug", "a", coretest.Alice), dibs.Archive{Entity: coretest.Alice})
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	f.Refused(dibs.ErrEntityNotFound, dibs.Archive{Entity: coretest.Alice})
	f.Refused(dibs.ErrEntityNotFound, dibs.Restore{Entity: coretest.Alice})
	f.Must(coretest.Claim("slug", "b", coretest.Alice))
	f.WantLeads("slug", "b", 200, "")
	if v := f.VersionOf(coretest.Alice); v < 3 {
		t.Errorf("its version is %d: it went back", v)
	}
	f.Clock.Advance(31 * 24 * time.Hour)
	f.SweepAll()
	f.WantLeads("slug", "b", 200, "")
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	f.WantNoTrace("alice")
	if r := f.MustForget(dibs.ForgetRequest{Entity: coretest.User3}); !r.Replayed {
		t.Errorf("one that nobody knows: %+v", r)
	}
}

// A run that fails goes on where it was, however many names there are.
func TestForgetGoesOn(t *testing.T) {
	t.Parallel()
	const names = 70
	f := coretest.NewFixture(t, forgetful())
	for i := range names {
		f.Must(coretest.Claim("email", fmt.Sprintf("alice@%c%c", 'a'+i/10, 'a'+i%10), coretest.Alice))
	}
	for fails := 0; ; fails++ {
		g := *f
		g.Registry = coretest.MustOpen(t, &failing{Store: f.Engine, after: 1 + 7*fails}, dibs.Config{Policies: forgetful()})
		_, err := g.Forget(f.Ctx, dibs.ForgetRequest{Entity: coretest.Alice})
		f.WantLeads("email", "alice@aa", 410, "") // from the first moment
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

func TestForgetTakesTheRight(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, forgetful())
	_, err := f.ActAs("somebody", dibs.ActForOthers|dibs.OverrideReserved).Forget(f.Ctx, dibs.ForgetRequest{Entity: coretest.Alice})
	f.CheckError(err, dibs.ErrNotOwner)
	bound := f.InTransaction(func(s dibs.Store) (dibs.Store, error) { return s, nil })
	if _, err := bound.Forget(f.Ctx, dibs.ForgetRequest{Entity: coretest.Alice}); !errors.Is(err, dibs.ErrUnsupported) {
		t.Errorf("in a transaction: %v", err)
	}
}
