package rules_test

import (
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

func TestForgetAPerson(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Forgetful())
	aliceLives(f)
	if len(f.Traces("alice")) < 20 {
		t.Fatal("the fixture stores too little about Alice")
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

	// Other entities keep their names, and their part of the history.
	after := f.NameOf("slug", "given")
	if after.Entity != coretest.User2 || after.State != dibs.Active || after.Epoch != present.Epoch || after.CorrelationID != "" || after.Meta != nil || after.Principal != "" {
		t.Errorf("the name of another entity is %+v", after)
	}
	f.WantResolve("slug", "given", 200, "")
	f.WantResolve("slug", "swapped", 200, "")
	if got, want := f.KindsOf("slug", "first"), []dibs.EventKind{"claimed", "given_up", "claimed", "given_up", "forgotten"}; !slices.Equal(got, want) {
		t.Errorf("the history of a name that another entity had is %v, want %v", got, want)
	}
	history, err := f.History(f.Ctx, "slug", "first")
	if err != nil || !history[0].Entity.IsZero() || history[2].Entity != coretest.User2 || history[3].Entity != coretest.User2 {
		t.Errorf("the history is %+v, %v", history, err)
	}

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

// A forgotten name is withheld from every entity for its quarantine. Then it is free, and its epochs
// continue.
func TestForgottenNamesKeepTheirQuarantine(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Forgetful())
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
	f.WantResolve("email", "alice@home", 410, "")
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
		t.Errorf("taken again, it is %+v", n)
	}
	if kinds := f.KindsOf("email", "alice@home"); !slices.Equal(kinds, []dibs.EventKind{dibs.EventForgotten, dibs.EventClaimed}) {
		t.Errorf("its history is %v", kinds)
	}
	f.WantResolve("email", "alice@home", 200, "")
}

// A tombstone is purged when it is no longer needed. Epochs and revisions still do not start over.
func TestTombstonesArePurged(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Forgetful())
	aliceLives(f)
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
			t.Errorf("still stored: %+v", records[0])
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
	f := coretest.NewFixture(t, coretest.Forgetful())
	f.Must(coretest.Claim("email", "alice@home", coretest.Alice), coretest.Claim("email", "kept@home", coretest.Alice), coretest.Claim("slug", "over", coretest.User1), coretest.Decommission("slug", "over", coretest.User1))
	f.Must(coretest.Reserve("slug", "held", coretest.Token1))
	try := func(want error, r dibs.ForgetRequest) {
		t.Helper()
		_, err := f.Forget(f.Ctx, r)
		f.WantError(err, want)
	}
	try(dibs.ErrNameTaken, dibs.ForgetRequest{Namespace: "email", Value: "alice@home"})
	if _, err := f.Forget(f.Ctx, dibs.ForgetRequest{Namespace: "email", Value: "alice@home"}); !strings.Contains(err.Error(), "name the entity that has it") {
		t.Errorf("%v does not say what to do", err)
	}
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
	f.WantActive(coretest.Alice, "kept@home")
	if v := versionOf(f, coretest.Alice); v != 3 {
		t.Errorf("the version of the entity is %d, want 3", v)
	}
	f.MustForget(dibs.ForgetRequest{Namespace: "slug", Value: "over"})
	f.WantNoTrace("over")
	for _, value := range []string{"over", "never"} {
		if r := f.MustForget(dibs.ForgetRequest{Namespace: "slug", Value: value}); !r.Replayed {
			t.Errorf("%s: %+v", value, r)
		}
	}
}

// A forgotten entity is unknown, and may have names again.
func TestForgottenEntityMayComeBack(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Forgetful())
	f.Must(coretest.Claim("slug", "a", coretest.Alice), dibs.Archive{Entity: coretest.Alice})
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	f.Refused(dibs.ErrEntityNotFound, dibs.Archive{Entity: coretest.Alice})
	f.Refused(dibs.ErrEntityNotFound, dibs.Restore{Entity: coretest.Alice})
	f.Must(coretest.Claim("slug", "b", coretest.Alice))
	f.WantResolve("slug", "b", 200, "")
	if v := versionOf(f, coretest.Alice); v < 3 {
		t.Errorf("its version is %d, want at least 3", v)
	}
	f.Clock.Advance(31 * 24 * time.Hour)
	f.SweepAll()
	f.WantResolve("slug", "b", 200, "")
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	f.WantNoTrace("alice")
	for _, dryRun := range []bool{true, false} {
		if r := f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice, DryRun: dryRun}); !r.Replayed || r.Unknown {
			t.Errorf("a forgotten entity, dry run %t: %+v, want a replay", dryRun, r)
		}
		if r := f.MustForget(dibs.ForgetRequest{Entity: coretest.User3, DryRun: dryRun}); !r.Replayed || !r.Unknown {
			t.Errorf("an unknown entity, dry run %t: %+v, want a replay", dryRun, r)
		}
		if r := f.MustForget(dibs.ForgetRequest{Scope: "acme", Entity: coretest.Alice, DryRun: dryRun}); !r.Replayed || !r.Unknown {
			t.Errorf("an entity of another scope, dry run %t: %+v, want a replay", dryRun, r)
		}
		if r := f.MustForget(dibs.ForgetRequest{Namespace: "slug", Value: "nosuch", DryRun: dryRun}); !r.Replayed || !r.Unknown {
			t.Errorf("an unknown name, dry run %t: %+v, want a replay", dryRun, r)
		}
	}
}

func TestForgetNeedsTheRight(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Forgetful())
	_, err := f.ActAs("guest", dibs.ActForOthers|dibs.OverrideReserved).Forget(f.Ctx, dibs.ForgetRequest{Entity: coretest.Alice})
	f.WantError(err, dibs.ErrNotOwner)
	bound := f.InTransaction(func(s dibs.Store) (dibs.Store, error) { return s, nil })
	if _, err := bound.Forget(f.Ctx, dibs.ForgetRequest{Entity: coretest.Alice}); !errors.Is(err, dibs.ErrUnsupported) {
		t.Errorf("in a transaction: %v", err)
	}
}

// The name that a row had before the rules changed is forgotten with the row.
func TestForgetMovedNames(t *testing.T) {
	t.Parallel()
	for _, request := range []dibs.ForgetRequest{{Entity: coretest.Alice}, {Namespace: "slug", Value: "alice", Entity: coretest.Alice}} {
		f := coretest.NewFixture(t, coretest.ExactSlugs())
		f.Must(coretest.Claim("slug", "Alice", coretest.Alice), coretest.Claim("slug", "Other", coretest.User2))
		g := f.Reopened(coretest.FoldedSlugs())
		g.MustRecanonicalize(false)
		report := g.MustForget(request)
		if len(report.Erased) == 0 {
			t.Errorf("%+v", report)
		}
		g.WantNoTrace(`"alice"`) // as a value or a canonical form
		if request.Namespace == "" {
			g.WantNoTrace("alice")
		}
		g.WantResolve("slug", "OTHER", 200, "")
		// Another change of rules leaves tombstones alone.
		h := f.Reopened(coretest.ExactSlugs())
		h.MustRecanonicalize(false)
		h.WantResolve("slug", "Other", 200, "")
	}
}

// A later change of rules that leaves a name where it is keeps the way to its former row.
func TestForgetMovedNamesAfterAnotherChange(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "Alice", coretest.Alice))
	folded := f.Reopened(coretest.FoldedSlugs())
	folded.MustRecanonicalize(false)
	strict := f.Reopened(coretest.NoLookAlikes(dibs.Policy{Profile: coretest.Lower{}}))
	strict.MustRecanonicalize(false)
	strict.MustForget(dibs.ForgetRequest{Namespace: "slug", Value: "alice", Entity: coretest.Alice})
	strict.WantNoTrace(`"Alice"`)
	strict.WantNoTrace(`"alice"`)
}

// A row from before the rules changed may have had other owners since: their history stays.
func TestForgetLeavesReusedRows(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.FoldedSlugs())
	f.Must(coretest.Claim("slug", "ALICE", coretest.Alice)) // in the row of alice
	upper := f.Reopened(map[string]dibs.Policy{"slug": {Profile: coretest.Upper{}}})
	upper.MustRecanonicalize(false) // to that of ALICE
	exact := f.Reopened(map[string]dibs.Policy{"slug": {}})
	exact.MustRecanonicalize(false)
	exact.Must(coretest.Claim("slug", "alice", coretest.User2), coretest.Decommission("slug", "alice", coretest.User2))
	want := exact.KindsOf("slug", "alice")
	exact.MustForget(dibs.ForgetRequest{Namespace: "slug", Value: "ALICE", Entity: coretest.Alice})
	if got := exact.KindsOf("slug", "alice"); !slices.Equal(got, want) {
		t.Errorf("the history of another entity's name is %v, and was %v", got, want)
	}
}

// An entity without events of its own is forgotten, too.
func TestForgetAnEntityWithoutEvents(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Forgetful())
	f.Must(coretest.Claim("slug", "x", coretest.Alice), dibs.Transfer{Namespace: "slug", Value: "x", From: coretest.Alice, To: coretest.User1})
	if r := f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice}); r.Replayed {
		t.Errorf("%+v", r)
	}
	f.WantNoTrace("alice")
	if r := f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice}); !r.Replayed {
		t.Errorf("the second time: %+v", r)
	}
}

// A transfer keeps the details of the hold that a name came from. They go with the person whose hold
// it was, each of them, and stay if it was another's.
func TestForgetDropsInheritedDetails(t *testing.T) {
	t.Parallel()
	for what, claim := range map[string]func(f *coretest.Fixture, entity dibs.Entity){
		"token": func(f *coretest.Fixture, entity dibs.Entity) {
			n := f.One(coretest.Reserve("slug", "x", coretest.Token1))
			f.Must(dibs.Confirm{ID: n.ID, Token: coretest.Token1, Entity: entity})
		},
		"principal": func(f *coretest.Fixture, entity dibs.Entity) {
			f.ActAs("alice-key", 0).Must(coretest.Claim("slug", "x", entity))
		},
		"correlation ID": func(f *coretest.Fixture, entity dibs.Entity) {
			f.Must(dibs.Claim{Namespace: "slug", Value: "x", Entity: entity, CorrelationID: "alice-order"})
		},
		"meta": func(f *coretest.Fixture, entity dibs.Entity) {
			f.Must(dibs.Claim{Namespace: "slug", Value: "x", Entity: entity, Meta: map[string]string{"for": "alice"}})
		},
	} {
		for _, first := range []dibs.Entity{coretest.Alice, coretest.User1} {
			f := coretest.NewFixture(t, nil)
			if first != coretest.Alice { // she had the name before
				f.Must(coretest.Claim("slug", "x", coretest.Alice), coretest.Decommission("slug", "x", coretest.Alice))
			}
			claim(f, first)
			f.Must(dibs.Transfer{Namespace: "slug", Value: "x", From: first, To: coretest.User2})
			f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
			row := f.Records(dibs.KindName)[0].(*dibs.NameRecord)
			has := !row.Token.IsZero() || row.Principal != "" || row.CorrelationID != "" || len(row.Meta) > 0
			if has != (first != coretest.Alice) {
				t.Errorf("%s of %s: after Alice was forgotten the row is %+v", what, first, row)
			}
		}
	}
}

// Only events about the person lose the version of the entity.
func TestForgetKeepsVersionsOfOthers(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Forgetful())
	f.Must(coretest.Claim("slug", "x", coretest.User1), dibs.Transfer{Namespace: "slug", Value: "x", From: coretest.User1, To: coretest.Alice})
	f.Must(dibs.Transfer{Namespace: "slug", Value: "x", From: coretest.Alice, To: coretest.User2})
	before := f.HistoryOf("slug", "x")
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	after := f.HistoryOf("slug", "x")
	for i, was := range before {
		var is dibs.Event // the history has one event more
		for _, e := range after {
			if e.Rev == was.Rev {
				is = e
			}
		}
		want := was.Version
		if was.Entity == coretest.Alice {
			want = 0
		}
		if want == 0 && was.Entity != coretest.Alice || is.Version != want {
			t.Errorf("event %d of %s has version %d, and had %d", i, was.Entity, is.Version, was.Version)
		}
	}
}

// A namespace says its scope: a request need not repeat it.
func TestForgetInAScope(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Claim("acme.slug", "gone", coretest.User1), coretest.Decommission("acme.slug", "gone", coretest.User1))
	if r := f.MustForget(dibs.ForgetRequest{Namespace: "acme.slug", Value: "gone"}); len(r.Erased) != 1 {
		t.Errorf("%+v", r)
	}
	f.WantNoTrace("gone")
}

// A quota has the name of its principal, so it goes with the last hold that counts. One that begins
// again has a higher revision than any before it: a decision that rests on the old one is stale.
func TestForgottenQuotaBeginsAnew(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {MaxHolds: 3, HoldHistory: time.Hour}})
	ann := f.ActAs("ann", 0)
	reserve := func(value string) {
		t.Helper()
		ann.Must(dibs.Reserve{Namespace: "slug", Value: value, Token: coretest.Token1, Entity: coretest.User1})
	}
	revision := func() uint64 {
		t.Helper()
		quotas := f.Records(dibs.KindQuota)
		if len(quotas) != 1 {
			t.Fatalf("%d quotas", len(quotas))
		}
		return quotas[0].Revision()
	}
	reserve("a")
	reserve("b")
	reserve("c")
	ann.Must(dibs.Release{ID: dibs.NameID("slug", "c"), Token: coretest.Token1})
	f.MustForget(dibs.ForgetRequest{Namespace: "slug", Value: "a", Entity: coretest.User1})
	before := revision() // "b" still counts
	f.MustForget(dibs.ForgetRequest{Namespace: "slug", Value: "b", Entity: coretest.User1})
	if quotas := f.Records(dibs.KindQuota); len(quotas) != 0 {
		t.Errorf("%v is left", quotas[0])
	}
	reserve("d")
	if after := revision(); after <= before {
		t.Errorf("the quota begins again at revision %d, and was at %d", after, before)
	}
}

func TestForgetBlindNames(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, blind(keyA))
	f.Must(coretest.Claim("email", secretValue, coretest.Alice))
	hash := f.NameOf("email", secretValue).Canonical
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	f.Refused(dibs.ErrNameTaken, dibs.Reserve{Namespace: "email", Value: secretValue})

	// With a new key the name is still withheld under the old one, and Rekey adds the new one.
	g := f.Reopened(blind(keyB, keyA))
	g.Refused(dibs.ErrNameTaken, dibs.Reserve{Namespace: "email", Value: secretValue})
	if _, err := g.Rekey(g.Ctx, dibs.Rekey{Namespace: "email", Value: secretValue}); err != nil {
		t.Fatal(err)
	}
	h := f.Reopened(blind(keyB))
	h.Refused(dibs.ErrNameTaken, dibs.Reserve{Namespace: "email", Value: secretValue})
	f.Clock.Advance(time.Minute)
	if n := h.One(coretest.Claim("email", secretValue, coretest.User2)); n.Epoch != 2 {
		t.Errorf("taken again, it is %+v", n)
	}
	h.MustForget(dibs.ForgetRequest{Namespace: "email", Value: secretValue, Entity: coretest.User2})
	f.Clock.Advance(2 * time.Hour)
	h.SweepAll()
	h.WantNoTrace(hash)
	for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindHash, dibs.KindSkeleton} {
		if records, _ := f.Engine.List(f.Ctx, dibs.ListQuery{Kind: kind, Limit: 9}); len(records) > 0 {
			t.Errorf("still stored: %+v", records[0])
		}
	}
}

// The history of a name that another entity has loses the person, event by event, in place.
func TestForgetInALongHistory(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.Forgetful())
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
			t.Errorf("event %d has lost another entity: %+v", i, after[i])
		}
	}
}

// When the rules change, a name may move into the row of a forgotten one. The row then belongs to
// that name, and is not a tombstone any more.
func TestForgottenRowIsTaken(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "alice", coretest.Alice), coretest.Claim("slug", "ALICE", coretest.User2))
	before := f.NameOf("slug", "alice")
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	f.Clock.Advance(time.Hour)
	g := f.Reopened(coretest.FoldedSlugs())
	g.MustRecanonicalize(false)
	g.WantResolve("slug", "alice", 200, "")
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

// aliceLives gives Alice names in every possible way. Two names that she had are held by others in
// the end, under names that do not contain hers.
func aliceLives(f *coretest.Fixture) {
	f.T.Helper()
	hers := f.ActAs("shop for alice", 0)
	reserved := func(value string) dibs.Reserve {
		return dibs.Reserve{
			Namespace: "slug", Value: value, Token: coretest.Token1, Entity: coretest.Alice,
			CorrelationID: "order of alice", Meta: map[string]string{"by": "Alice"},
		}
	}
	hold := hers.One(reserved("Alice"))
	hers.Must(dibs.Confirm{ID: hold.ID, Token: coretest.Token1, Entity: coretest.Alice})
	f.Must(coretest.Rename("slug", "alice-2", coretest.Alice), dibs.Archive{Entity: coretest.Alice}, dibs.Restore{Entity: coretest.Alice})
	f.Must(coretest.Claim("email", "alice@home", coretest.Alice), coretest.Claim("email", "alice@work", coretest.Alice), coretest.Decommission("email", "alice@home", coretest.Alice))

	// A name that she had and another entity took.
	f.Must(coretest.Rename("slug", "first", coretest.Alice), coretest.Decommission("slug", "first", coretest.Alice), coretest.Claim("slug", "first", coretest.User2))
	// A name that she transferred, with the details of her hold on it.
	given := hers.One(reserved("given"))
	hers.Must(dibs.Confirm{ID: given.ID, Token: coretest.Token1, Entity: coretest.Alice})
	f.Must(coretest.Decommission("slug", "first", coretest.User2), dibs.Transfer{Namespace: "slug", Value: "given", From: coretest.Alice, To: coretest.User2})
	// A name that she swapped.
	f.Must(coretest.Claim("slug", "alice-3", coretest.User3), coretest.Rename("slug", "swapped", coretest.Alice))
	f.Must(dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "swapped", Entity: coretest.Alice}, B: dibs.Named{Value: "alice-3", Entity: coretest.User3}})
	// Holds for her: one that is over, and one that is not.
	hers.Must(reserved("alice-was-here"), dibs.Release{ID: dibs.NameID("slug", "alice-was-here"), Token: coretest.Token1})
	hers.Must(reserved("alice-is-here"))
}
