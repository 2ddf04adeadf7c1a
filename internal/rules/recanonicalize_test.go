package rules_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// Under other rules names keep their owners, holds, quarantines and history.
func TestRecanonicalize(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {HoldHistory: time.Hour, Quarantine: time.Hour, MaxHolds: 5}})
	f.Must(coretest.Claim("slug", "Alice", coretest.User1), coretest.Claim("slug", "bob", coretest.User2), coretest.Rename("slug", "Robert", coretest.User2))
	f.Must(coretest.Claim("slug", "Gone", coretest.User3), dibs.Decommission{Namespace: "slug", Value: "Gone", Entity: coretest.User3})
	hold := f.One(coretest.Reserve("slug", "Held", coretest.Token1))
	f.Must(coretest.Reserve("slug", "Lapsed", coretest.Token2), dibs.Release{ID: dibs.NameID("slug", "Lapsed"), Token: coretest.Token2})

	g := f.Reopened(map[string]dibs.Policy{"slug": {Profile: coretest.Lower{}, HoldHistory: time.Hour, Quarantine: time.Hour, MaxHolds: 5}})
	before := f.Dump()
	plan := g.MustRecanonicalize(true)
	if plan.From != "exact/1" || plan.To != "lower/1" || plan.Looked != 5 || plan.Counts[dibs.FindingChange] != 4 || len(plan.Counts) != 1 {
		t.Errorf("plan: %+v", plan)
	}
	if after := f.Dump(); !reflect.DeepEqual(before, after) {
		t.Error("the plan changed something")
	}
	f.Clock.Advance(time.Second)
	if done := g.MustRecanonicalize(false); done.Done != 5 {
		t.Errorf("done: %+v", done)
	}
	if again := g.MustRecanonicalize(false); again.Done != 0 || again.Looked != 0 {
		t.Errorf("again: %+v", again)
	}

	for value, entity := range map[string]dibs.Entity{"ALICE": coretest.User1, "rOBERT": coretest.User2} {
		r, err := g.Resolve(g.Ctx, "slug", value)
		if err != nil || r.Outcome != dibs.ResolveActive || r.Entity != entity {
			t.Errorf("%s: %+v, %v", value, r, err)
		}
	}
	if r, _ := g.Resolve(g.Ctx, "slug", "Bob"); r.Outcome != dibs.ResolveMoved || r.To.Value != "Robert" || r.To.Canonical != "robert" {
		t.Errorf("an alias: %+v", r)
	}
	g.Refused(dibs.ErrNameTaken, coretest.Claim("slug", "GONE", coretest.User1))
	if holder, err := g.WhoHeld(g.Ctx, "slug", "alice", f.Clock.Now().Add(-time.Second)); err != nil || holder.Entity != coretest.User1 {
		t.Errorf("WhoHeld before the change: %+v, %v", holder, err)
	}
	if kinds := g.KindsOf("slug", "alice"); len(kinds) != 3 || kinds[0] != dibs.EventClaimed || kinds[2] != dibs.EventMoved {
		t.Errorf("history: %v", kinds)
	}
	// The old reservation id still works for the holder, and the old name for the old process.
	if n := f.One(dibs.Confirm{ID: hold.ID, Token: coretest.Token1, Entity: dibs.Entity{Type: "user", ID: "9"}}); n.Canonical != "held" {
		t.Errorf("confirmed %+v", n)
	}
	if n := f.NameOf("slug", "Alice"); n.Canonical != "alice" || n.Entity != coretest.User1 || n.Epoch != 1 {
		t.Errorf("under its old name: %+v", n)
	}
	f.WantResolve("slug", "Alice", 200, "")
	f.Refused(dibs.ErrUnavailable, coretest.Claim("slug", "Carol", coretest.User3))
	g.Must(coretest.Claim("slug", "Carol", coretest.User3))

	// And back.
	back := f.MustRecanonicalize(false)
	if back.Done == 0 || back.From != "lower/1" {
		t.Errorf("back: %+v", back)
	}
	if n := f.NameOf("slug", "Alice"); n.Canonical != "Alice" || n.Entity != coretest.User1 {
		t.Errorf("back: %+v", n)
	}
	if n := f.One(coretest.Reserve("slug", "alice", coretest.Token2)); n.Epoch != 2 {
		t.Errorf("the epoch of alice went to %d", n.Epoch)
	}
}

// Two names of different owners become one: nothing changes, and the report names both.
// Only two names of one entity, of which at most one is active, become one. All others collide, also
// if one of them only redirects or is held: no owner may lose a name, and none may get another's.
func TestRecanonicalizeMergesNoStrangers(t *testing.T) {
	t.Parallel()
	many := map[string]dibs.Policy{"slug": {ManyPerEntity: true, HoldHistory: time.Hour}}
	for what, c := range map[string]struct {
		policies map[string]dibs.Policy
		commands []dibs.Command
		want     dibs.FindingKind
	}{
		"active and an alias of another": {coretest.ExactSlugs(), []dibs.Command{
			coretest.Claim("slug", "Alice", coretest.User1), coretest.Claim("slug", "alice", coretest.User2), coretest.Rename("slug", "bob", coretest.User2),
		}, dibs.FindingCollision},
		"aliases of two": {coretest.ExactSlugs(), []dibs.Command{
			coretest.Claim("slug", "Alice", coretest.User1), coretest.Rename("slug", "ann", coretest.User1),
			coretest.Claim("slug", "alice", coretest.User2), coretest.Rename("slug", "bob", coretest.User2),
		}, dibs.FindingCollision},
		"two active of one": {many, []dibs.Command{
			coretest.Claim("slug", "Alice", coretest.User1), coretest.Claim("slug", "alice", coretest.User1),
		}, dibs.FindingCollision},
		"alias and held, for the same": {coretest.ExactSlugs(), []dibs.Command{
			coretest.Claim("slug", "Alice", coretest.User1), coretest.Rename("slug", "ann", coretest.User1),
			dibs.Reserve{Namespace: "slug", Value: "alice", Token: coretest.Token1, Entity: coretest.User1},
		}, dibs.FindingCollision},
		"held and alias, for the same": {coretest.ExactSlugs(), []dibs.Command{
			coretest.Claim("slug", "alice", coretest.User1), coretest.Rename("slug", "ann", coretest.User1),
			dibs.Reserve{Namespace: "slug", Value: "Alice", Token: coretest.Token1, Entity: coretest.User1},
		}, dibs.FindingCollision},
		"active and alias of one": {coretest.ExactSlugs(), []dibs.Command{
			coretest.Claim("slug", "Alice", coretest.User1), coretest.Rename("slug", "alice", coretest.User1),
		}, dibs.FindingMerge},
	} {
		f := coretest.NewFixture(t, c.policies)
		for _, command := range c.commands {
			f.Must(command)
		}
		policy := c.policies["slug"]
		policy.Profile = coretest.Lower{}
		g := f.Reopened(map[string]dibs.Policy{"slug": policy})
		if plan := g.MustRecanonicalize(true); plan.Counts[c.want] != 1 {
			t.Errorf("%s: planned %+v, want a %s", what, plan.Counts, c.want)
		}
		before := f.Dump()
		_, err := g.Recanonicalize(g.Ctx, dibs.RecanonicalizeRequest{Namespace: "slug"})
		if collides := errors.Is(err, dibs.ErrNameTaken); collides != (c.want == dibs.FindingCollision) {
			t.Errorf("%s: %v", what, err)
		} else if collides && !reflect.DeepEqual(before.Events, f.Dump().Events) {
			t.Errorf("%s: names were changed", what)
		}
	}
}

func TestRecanonicalizeCollision(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1), coretest.Claim("slug", "alice", coretest.User2), coretest.Claim("slug", "what!", coretest.User3))
	g := f.Reopened(coretest.FoldedSlugs())
	plan := g.MustRecanonicalize(true)
	if plan.Counts[dibs.FindingCollision] != 1 || plan.Counts[dibs.FindingInvalid] != 1 {
		t.Fatalf("plan: %+v", plan)
	}
	for _, finding := range plan.Findings {
		switch finding.Kind {
		case dibs.FindingCollision:
			if finding.Name.Entity != coretest.User1 || finding.With.Entity != coretest.User2 || finding.To != "alice" {
				t.Errorf("%+v", finding)
			}
		case dibs.FindingInvalid:
			if finding.Name.Entity != coretest.User3 || finding.Why == "" {
				t.Errorf("%+v", finding)
			}
		default:
			t.Errorf("%+v", finding)
		}
	}
	before := f.Dump()
	_, err := g.Recanonicalize(g.Ctx, dibs.RecanonicalizeRequest{Namespace: "slug"})
	f.WantError(err, dibs.ErrNameTaken)
	after := f.Dump()
	if !reflect.DeepEqual(before.Events, after.Events) {
		t.Error("names were changed")
	}
	f.Must(coretest.Rename("slug", "alice-2", coretest.User2), dibs.Decommission{Namespace: "slug", Value: "alice", Entity: coretest.User2})
	f.Must(coretest.Rename("slug", "what", coretest.User3), dibs.Decommission{Namespace: "slug", Value: "what!", Entity: coretest.User3})
	g.MustRecanonicalize(false)
	g.Must(coretest.Claim("slug", "new", dibs.Entity{Type: "user", ID: "9"}))
}

// Names of one entity with the same new canonical form are merged.
func TestRecanonicalizeMerges(t *testing.T) {
	t.Parallel()
	for _, active := range []string{"Alice", "alice", "ALICE"} {
		t.Run(active, func(t *testing.T) {
			t.Parallel()
			f := coretest.NewFixture(t, coretest.ExactSlugs())
			f.Must(coretest.Claim("slug", "old", coretest.User1))
			for _, value := range []string{"ALICE", "alice", "Alice"} {
				f.Must(coretest.Rename("slug", value, coretest.User1))
			}
			if active != "Alice" {
				f.Must(coretest.Rename("slug", active, coretest.User1))
			}
			g := f.Reopened(coretest.FoldedSlugs())
			report := g.MustRecanonicalize(false)
			if report.Counts[dibs.FindingMerge]+report.Counts[dibs.FindingChange] != 2 || report.Counts[dibs.FindingMerge] == 0 {
				t.Errorf("%+v", report.Counts)
			}
			info, err := g.Entity(g.Ctx, "", coretest.User1)
			if err != nil || len(info.Names) != 2 || info.Names[0].State != dibs.Active || info.Names[0].Canonical != "alice" {
				t.Errorf("%+v, %v", info, err)
			}
			if r, _ := g.Resolve(g.Ctx, "slug", "old"); r.Outcome != dibs.ResolveMoved || r.To.Canonical != "alice" {
				t.Errorf("%+v", r)
			}
			g.Must(coretest.Rename("slug", "other", coretest.User1))
			if r, _ := g.Resolve(g.Ctx, "slug", "aLICE"); r.Outcome != dibs.ResolveMoved || r.To.Canonical != "other" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A namespace in use starts to refuse look-alikes: all names get index keys, and the report names
// existing look-alikes, which remain.
func TestRecanonicalizeForLookAlikes(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "paypal", coretest.User1), coretest.Claim("slug", "paypa1", coretest.User2), coretest.Claim("slug", "shop", coretest.User3))
	g := f.Reopened(coretest.NoLookAlikes(dibs.Policy{}))
	g.Refused(dibs.ErrUnavailable, coretest.Reserve("slug", "5hop", coretest.Token1))
	report := g.MustRecanonicalize(false)
	if report.Counts[dibs.FindingLookAlike] != 1 || report.Done != 3 {
		t.Errorf("%+v", report)
	}
	confusable(g, coretest.Reserve("slug", "5hop", coretest.Token1))
	if e := g.Refused(dibs.ErrNameTaken, coretest.Reserve("slug", "paypa1", coretest.Token1)); e.Reason != dibs.ReasonInUse {
		t.Errorf("%+v", e)
	}
}

// Recanonicalize refuses what it does not support.
func TestRecanonicalizeRefused(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "x", coretest.User1))
	hidden := f.Reopened(map[string]dibs.Policy{"slug": {Blind: []dibs.BlindKey{keyA}}})
	_, err := hidden.Recanonicalize(f.Ctx, dibs.RecanonicalizeRequest{Namespace: "slug"})
	f.WantError(err, dibs.ErrInvalidNamespace)
	_, err = f.Recanonicalize(f.Ctx, dibs.RecanonicalizeRequest{Namespace: "not a namespace"})
	f.WantError(err, dibs.ErrInvalidNamespace)
	_, err = f.ActAs("guest", 0).Recanonicalize(f.Ctx, dibs.RecanonicalizeRequest{Namespace: "slug"})
	f.WantError(err, dibs.ErrNotOwner)
}

// The values of a blind namespace are unknown, so its names keep their rules: nothing changes, and
// no name is given out twice.
func TestRecanonicalizeBlindNames(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p *dibs.Policy){
		"another profile":     func(p *dibs.Policy) { p.Profile = dibs.Exact },
		"look-alikes allowed": func(p *dibs.Policy) { p.Skeleton = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := coretest.NewFixture(t, blind(keyA))
			f.Must(coretest.Claim("email", secretValue, coretest.User1))
			p := blind(keyA)["email"]
			change(&p)
			g := f.Reopened(map[string]dibs.Policy{"email": p})
			for _, dry := range []bool{true, false} {
				_, err := g.Recanonicalize(g.Ctx, dibs.RecanonicalizeRequest{Namespace: "email", DryRun: dry})
				f.WantError(err, dibs.ErrInvalidNamespace)
			}
			f.Refused(dibs.ErrNameTaken, coretest.Claim("email", secretValue, coretest.User2))
			f.Must(coretest.Claim("email", "new-"+secretValue, coretest.User2)) // the rules have not changed
		})
	}
}

// A quarantined name that is invalid under the new rules does not stop the change, since no command
// can name it any more. Its quarantine ends in its row.
func TestRecanonicalizeLeavesInvalidQuarantines(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {HoldHistory: time.Hour, Quarantine: time.Hour}})
	f.Must(coretest.Claim("slug", "Alice", coretest.User1), coretest.Claim("slug", "what!", coretest.User2), coretest.Decommission("slug", "what!", coretest.User2))
	g := f.Reopened(coretest.FoldedSlugs())
	if plan := g.MustRecanonicalize(true); len(plan.Findings) != 1 || plan.Findings[0].Kind != dibs.FindingChange {
		t.Errorf("plan: %+v", plan)
	}
	if report := g.MustRecanonicalize(false); report.Looked != 2 || report.Done != 1 || report.Counts[dibs.FindingInvalid] != 0 {
		t.Errorf("%+v", report)
	}
	g.Must(coretest.Claim("slug", "new", coretest.User3))
	f.WantState("slug", "what!", dibs.Quarantined)
	f.Clock.Advance(2 * time.Hour)
	f.SweepAll()
	f.WantState("slug", "what!", dibs.Free)
}

// A name that was given up under other rules has no owner when the rules are changed back: under
// these rules it is another name.
func TestRulesChangedBackAfterRelease(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))
	g := f.Reopened(coretest.FoldedSlugs())
	g.MustRecanonicalize(false)
	g.Must(coretest.Decommission("slug", "alice", coretest.User1))
	f.MustRecanonicalize(false)
	if n := f.One(coretest.Claim("slug", "Alice", coretest.User1)); n.Canonical != "Alice" || n.ID != dibs.NameID("slug", "Alice") {
		t.Errorf("Alice is %s", n.Key())
	}
	f.Must(coretest.Claim("slug", "alice", coretest.User2))
	f.Replayed(coretest.Claim("slug", "Alice", coretest.User1))
}

// When two names become one, the higher epoch and the longer redirect remain.
func TestRecanonicalizeMergeKeepsTheHigherEpoch(t *testing.T) {
	t.Parallel()
	for what, retention := range map[string]time.Duration{"for longer": 2 * time.Hour, "for ever": 0, "for less": time.Minute} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			policies := func(profile dibs.Profile, retention time.Duration) map[string]dibs.Policy {
				return map[string]dibs.Policy{"slug": {Profile: profile, HoldHistory: time.Hour, AliasRetention: retention}}
			}
			f := coretest.NewFixture(t, policies(dibs.Exact, time.Hour))
			f.Must(coretest.Claim("slug", "Alice", coretest.User2), coretest.Decommission("slug", "Alice", coretest.User2))
			f.Must(coretest.Claim("slug", "alice", coretest.User1), coretest.Rename("slug", "Alice", coretest.User1))
			f.Reopened(policies(dibs.Exact, retention)).Must(coretest.Rename("slug", "other", coretest.User1))
			was, before := f.NameOf("slug", "Alice"), f.NameOf("slug", "alice")
			g := f.Reopened(policies(coretest.Lower{}, retention))
			g.MustRecanonicalize(false)
			until := was.Until
			if !until.IsZero() && before.Until.After(until) {
				until = before.Until
			}
			if n := g.NameOf("slug", "Alice"); n.Epoch != was.Epoch || !n.Until.Equal(until) {
				t.Errorf("at epoch %d until %s, it was at epoch %d until %s, the other until %s", n.Epoch, n.Until, was.Epoch, was.Until, before.Until)
			}
		})
	}
}

// vowels is a skeleton under which all vowels look alike.
type vowels struct{}

func (vowels) Name() string { return "vowels/1" }

func (vowels) Skeleton(canonical string) string {
	return strings.NewReplacer("e", "a", "i", "a", "o", "a", "u", "a").Replace(canonical)
}

// Under another skeleton other names look alike, and the former look-alikes do not.
func TestRecanonicalizeToAnotherSkeleton(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{}))
	f.Must(coretest.Claim("slug", "shop", coretest.User1))
	was := documents(f, dibs.KindSkeleton)[0].ID
	g := f.Reopened(map[string]dibs.Policy{"slug": {Skeleton: vowels{}, HoldHistory: time.Hour}})
	if done := g.MustRecanonicalize(false); done.Done != 1 {
		t.Errorf("%+v", done)
	}
	if left := documents(f, dibs.KindSkeleton); len(left) != 1 || left[0].ID == was {
		t.Errorf("%d skeletons are left", len(left))
	}
	confusable(g, coretest.Claim("slug", "ship", coretest.User2))
	g.Must(coretest.Claim("slug", "5hop", coretest.User2))
	none := f.Reopened(coretest.ExactSlugs())
	none.MustRecanonicalize(false)
	if left := documents(f, dibs.KindSkeleton); len(left) != 0 {
		t.Errorf("%d skeletons are left under rules without look-alikes", len(left))
	}
}

// A name that moves into a new row starts above the purged epochs and revisions.
func TestMoveStartsAboveThePurged(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))
	for range 3 {
		token := dibs.NewToken()
		f.Must(coretest.Reserve("slug", "alice", token), dibs.Release{ID: dibs.NameID("slug", "alice"), Token: token})
	}
	was := f.AllEvents()
	f.Clock.Advance(time.Hour)
	f.SweepAll()
	g := f.Reopened(coretest.FoldedSlugs())
	g.MustRecanonicalize(false)
	if n := g.NameOf("slug", "alice"); n.Epoch <= 3 {
		t.Errorf("the epoch of alice went from 3 to %d", n.Epoch)
	}
	if history, err := g.History(g.Ctx, "slug", "alice"); err != nil || history[len(history)-1].Rev <= was[len(was)-1].Rev {
		t.Errorf("%+v, %v: the revision is not above %d", history, err, was[len(was)-1].Rev)
	}
}

// A moved name is never purged if it was confirmed before, or if its new row was.
func TestMovedNameIsKeptIfEitherRowWasConfirmed(t *testing.T) {
	t.Parallel()
	for _, confirmed := range []string{"Alice", "alice"} {
		t.Run(confirmed, func(t *testing.T) {
			t.Parallel()
			f := coretest.NewFixture(t, coretest.ExactSlugs())
			f.Must(coretest.Claim("slug", confirmed, coretest.User1), coretest.Decommission("slug", confirmed, coretest.User1))
			other := f.One(coretest.Reserve("slug", "alice", coretest.Token2))
			f.Must(dibs.Release{ID: other.ID, Token: coretest.Token2})
			hold := f.One(coretest.Reserve("slug", "Alice", coretest.Token1))
			g := f.Reopened(coretest.FoldedSlugs())
			g.MustRecanonicalize(false)
			g.Must(dibs.Release{ID: hold.ID, Token: coretest.Token1})
			f.Clock.Advance(2 * time.Hour)
			g.SweepAll()
			if n := g.NameOf("slug", "alice"); n.State != dibs.Free {
				t.Errorf("%+v", n)
			}
		})
	}
}

// The move of an alias raises the version of its entity. A hold has no entity.
func TestMovedAliasRaisesVersion(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.ExactSlugs())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1), coretest.Rename("slug", "other", coretest.User1), coretest.Reserve("slug", "Held", coretest.Token1))
	before := versionOf(f, coretest.User1)
	g := f.Reopened(coretest.FoldedSlugs())
	g.MustRecanonicalize(false)
	if after := versionOf(g, coretest.User1); after != before+1 {
		t.Errorf("the version went from %d to %d", before, after)
	}
	noEntity, err := f.Engine.Load(f.Ctx, []dibs.Ref{{Kind: dibs.KindEntity, ID: dibs.EntityID("", dibs.Entity{})}})
	if err != nil || len(noEntity.Records) != 0 {
		t.Errorf("%+v, %v", noEntity, err)
	}
}

// A process with other rules does not respell a name: its canonical form may be another name.
func TestNoRespellUnderOtherRules(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.FoldedSlugs())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1))
	g := f.Reopened(coretest.ExactSlugs())
	g.MustRecanonicalize(false)
	f.Refused(dibs.ErrUnavailable, coretest.Rename("slug", "ALICE", coretest.User1))
	g.Must(coretest.Claim("slug", "ALICE", coretest.User2))
}

// With another skeleton, names leave the index keys of the old one.
func TestNamesLeaveTheOldSkeleton(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.NoLookAlikes(dibs.Policy{ManyPerEntity: true}))
	f.Must(coretest.Claim("slug", "sa1a", coretest.User1)) // looks like "sala" before, like "sa1a" after
	f.Must(coretest.Claim("slug", "sele", coretest.User2)) // looks like "sele" before, like "sala" after
	g := f.Reopened(map[string]dibs.Policy{"slug": {Skeleton: vowels{}, ManyPerEntity: true}})
	g.MustRecanonicalize(false)
	for _, r := range g.Records(dibs.KindName) {
		if links := r.(*dibs.NameRecord).Links; len(links) != 1 {
			t.Errorf("a name has the links %v, want one", links)
		}
	}
	g.Must(coretest.Claim("slug", "sola", coretest.User2))
	confusable(g, coretest.Claim("slug", "sila", coretest.User1))
}

// A process with other rules does not follow a row whose value is another name by them.
func TestOtherNamesAreNotFollowed(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.FoldedSlugs())
	f.Must(coretest.Claim("slug", "ALICE", coretest.User1)) // in the row of alice
	f.Reopened(map[string]dibs.Policy{"slug": {Profile: coretest.Upper{}}}).MustRecanonicalize(false)
	exact := f.Reopened(coretest.ExactSlugs())
	exact.WantState("slug", "alice", dibs.Free)
	exact.WantState("slug", "ALICE", dibs.Active)
	f.WantState("slug", "alice", dibs.Active) // the same name by the rules of this process
}
