package rules_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

func folded() map[string]dibs.Policy {
	return map[string]dibs.Policy{"slug": {Profile: coretest.Lower{}, HoldHistory: time.Hour}}
}

func exactly() map[string]dibs.Policy {
	return map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}}
}

// Names go on under other rules: owners, holds, quarantines, history.
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
		t.Errorf("who held it before: %+v, %v", holder, err)
	}
	if kinds := g.KindsOf("slug", "alice"); len(kinds) != 3 || kinds[0] != dibs.EventClaimed || kinds[2] != dibs.EventMoved {
		t.Errorf("history: %v", kinds)
	}
	// The holder knows the old reservation id, and the old process the old name.
	if n := f.One(dibs.Confirm{ID: hold.ID, Token: coretest.Token1, Entity: dibs.Entity{Type: "user", ID: "9"}}); n.Canonical != "held" {
		t.Errorf("confirmed %+v", n)
	}
	if n := f.NameOf("slug", "Alice"); n.Canonical != "alice" || n.Entity != coretest.User1 || n.Epoch != 1 {
		t.Errorf("by its old name: %+v", n)
	}
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

// Two owners of what becomes one name: nothing is changed, and both are named.
func TestRecanonicalizeCollision(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, exactly())
	f.Must(coretest.Claim("slug", "Alice", coretest.User1), coretest.Claim("slug", "alice", coretest.User2), coretest.Claim("slug", "what!", coretest.User3))
	g := f.Reopened(folded())
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
	f.CheckError(err, dibs.ErrNameTaken)
	after := f.Dump()
	if !reflect.DeepEqual(before.Events, after.Events) {
		t.Error("names were changed")
	}
	f.Must(coretest.Rename("slug", "alice-2", coretest.User2), dibs.Decommission{Namespace: "slug", Value: "alice", Entity: coretest.User2})
	f.Must(coretest.Rename("slug", "what", coretest.User3), dibs.Decommission{Namespace: "slug", Value: "what!", Entity: coretest.User3})
	g.MustRecanonicalize(false)
	g.Must(coretest.Claim("slug", "new", dibs.Entity{Type: "user", ID: "9"}))
}

// Names of one entity that become the same become one.
func TestRecanonicalizeMerges(t *testing.T) {
	t.Parallel()
	for _, active := range []string{"Alice", "alice", "ALICE"} {
		t.Run(active, func(t *testing.T) {
			t.Parallel()
			f := coretest.NewFixture(t, exactly())
			f.Must(coretest.Claim("slug", "old", coretest.User1))
			for _, value := range []string{"ALICE", "alice", "Alice"} {
				f.Must(coretest.Rename("slug", value, coretest.User1))
			}
			if active != "Alice" {
				f.Must(coretest.Rename("slug", active, coretest.User1))
			}
			g := f.Reopened(folded())
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

// Refusing look-alikes in a namespace in use files all names, and says which
// collide. Those stay.
func TestRecanonicalizeForLookAlikes(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, exactly())
	f.Must(coretest.Claim("slug", "paypal", coretest.User1), coretest.Claim("slug", "paypa1", coretest.User2), coretest.Claim("slug", "shop", coretest.User3))
	g := f.Reopened(coretest.Looks(dibs.Policy{}))
	g.Refused(dibs.ErrUnavailable, coretest.Reserve("slug", "5hop", coretest.Token1))
	report := g.MustRecanonicalize(false)
	if report.Counts[dibs.FindingLookAlike] != 1 || report.Done != 3 {
		t.Errorf("%+v", report)
	}
	g.Confusable(coretest.Reserve("slug", "5hop", coretest.Token1))
	if e := g.Refused(dibs.ErrNameTaken, coretest.Reserve("slug", "paypa1", coretest.Token1)); e.Reason != dibs.ReasonInUse {
		t.Errorf("%+v", e)
	}
}

// Interrupted at any commit, it goes on when it is run again.
func TestRecanonicalizeInterrupted(t *testing.T) {
	t.Parallel()
	for stop := 1; ; stop++ {
		f := coretest.NewFixture(t, exactly())
		for i := range 8 {
			f.Must(coretest.Claim("slug", fmt.Sprintf("Name-%d", i), dibs.Entity{Type: "user", ID: fmt.Sprint(i)}))
		}
		ctx, cancel := context.WithCancel(f.Ctx)
		store := &stoppingStore{Store: f.Engine, left: stop, stop: cancel}
		reg := coretest.MustOpen(t, store, dibs.Config{Policies: folded(), MaxBatch: 2})
		_, err := reg.Recanonicalize(ctx, dibs.RecanonicalizeRequest{Namespace: "slug"})
		cancel()
		if err == nil {
			return // it was done before
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		g := f.Reopened(folded())
		g.MustRecanonicalize(false)
		for i := range 8 {
			if n := g.NameOf("slug", fmt.Sprintf("NAME-%d", i)); n.State != dibs.Active || n.Epoch != 1 {
				t.Fatalf("stopped at commit %d: %+v", stop, n)
			}
		}
		if stop > 20 {
			t.Fatal("it never ends")
		}
	}
}

// stoppingStore calls stop at a commit, which still happens.
type stoppingStore struct {
	dibs.Store
	left int
	stop func()
}

func (s *stoppingStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if s.left--; s.left == 0 {
		defer s.stop()
	}
	return s.Store.Commit(ctx, groups)
}

func (s *stoppingStore) Close() error { return nil }

// What it does not do, it says.
func TestRecanonicalizeRefused(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, exactly())
	f.Must(coretest.Claim("slug", "x", coretest.User1))
	hidden := f.Reopened(map[string]dibs.Policy{"slug": {Blind: []dibs.BlindKey{keyA}}})
	_, err := hidden.Recanonicalize(f.Ctx, dibs.RecanonicalizeRequest{Namespace: "slug"})
	f.CheckError(err, dibs.ErrInvalidNamespace)
	_, err = f.Recanonicalize(f.Ctx, dibs.RecanonicalizeRequest{Namespace: "not a namespace"})
	f.CheckError(err, dibs.ErrInvalidNamespace)
	_, err = f.ActAs("somebody", 0).Recanonicalize(f.Ctx, dibs.RecanonicalizeRequest{Namespace: "slug"})
	f.CheckError(err, dibs.ErrNotOwner)
}
