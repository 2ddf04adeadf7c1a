package core_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

func folded() map[string]dibs.Policy {
	return map[string]dibs.Policy{"slug": {Profile: lower{}, HoldHistory: time.Hour}}
}

func exactly() map[string]dibs.Policy {
	return map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}}
}

// Names go on under other rules: owners, holds, quarantines, history.
func TestRecanonicalize(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {HoldHistory: time.Hour, Quarantine: time.Hour, MaxHolds: 5}})
	f.must(claim("slug", "Alice", user1), claim("slug", "bob", user2), rename("slug", "Robert", user2))
	f.must(claim("slug", "Gone", user3), dibs.Decommission{Namespace: "slug", Value: "Gone", Entity: user3})
	hold := f.one(reserve("slug", "Held", token1))
	f.must(reserve("slug", "Lapsed", token2), dibs.Release{ID: dibs.NameID("slug", "Lapsed"), Token: token2})

	g := f.reopened(map[string]dibs.Policy{"slug": {Profile: lower{}, HoldHistory: time.Hour, Quarantine: time.Hour, MaxHolds: 5}})
	before := f.dump()
	plan := g.recanonicalize(true)
	if plan.From != "exact/1" || plan.To != "lower/1" || plan.Looked != 5 || plan.Counts[dibs.FindingChange] != 4 || len(plan.Counts) != 1 {
		t.Errorf("plan: %+v", plan)
	}
	if after := f.dump(); !reflect.DeepEqual(before, after) {
		t.Error("the plan changed something")
	}
	f.clock.advance(time.Second)
	if done := g.recanonicalize(false); done.Done != 5 {
		t.Errorf("done: %+v", done)
	}
	if again := g.recanonicalize(false); again.Done != 0 || again.Looked != 0 {
		t.Errorf("again: %+v", again)
	}

	for value, entity := range map[string]dibs.Entity{"ALICE": user1, "rOBERT": user2} {
		r, err := g.Resolve(g.ctx, "slug", value)
		if err != nil || r.Outcome != dibs.ResolveActive || r.Entity != entity {
			t.Errorf("%s: %+v, %v", value, r, err)
		}
	}
	if r, _ := g.Resolve(g.ctx, "slug", "Bob"); r.Outcome != dibs.ResolveMoved || r.To.Value != "Robert" || r.To.Canonical != "robert" {
		t.Errorf("an alias: %+v", r)
	}
	g.refused(dibs.ErrNameTaken, claim("slug", "GONE", user1))
	if holder, err := g.WhoHeld(g.ctx, "slug", "alice", f.clock.Now().Add(-time.Second)); err != nil || holder.Entity != user1 {
		t.Errorf("who held it before: %+v, %v", holder, err)
	}
	if kinds := g.kinds("slug", "alice"); len(kinds) != 3 || kinds[0] != dibs.EventClaimed || kinds[2] != dibs.EventMoved {
		t.Errorf("history: %v", kinds)
	}
	// The holder knows the old reservation id, and the old process the old name.
	if n := f.one(dibs.Confirm{ID: hold.ID, Token: token1, Entity: dibs.Entity{Type: "user", ID: "9"}}); n.Canonical != "held" {
		t.Errorf("confirmed %+v", n)
	}
	if n := f.name("slug", "Alice"); n.Canonical != "alice" || n.Entity != user1 || n.Epoch != 1 {
		t.Errorf("by its old name: %+v", n)
	}
	f.refused(dibs.ErrUnavailable, claim("slug", "Carol", user3))
	g.must(claim("slug", "Carol", user3))

	// And back.
	back := f.recanonicalize(false)
	if back.Done == 0 || back.From != "lower/1" {
		t.Errorf("back: %+v", back)
	}
	if n := f.name("slug", "Alice"); n.Canonical != "Alice" || n.Entity != user1 {
		t.Errorf("back: %+v", n)
	}
	if n := f.one(reserve("slug", "alice", token2)); n.Epoch != 2 {
		t.Errorf("the epoch of alice went to %d", n.Epoch)
	}
}

// Two owners of what becomes one name: nothing is changed, and both are named.
func TestRecanonicalizeCollision(t *testing.T) {
	t.Parallel()
	f := newFixture(t, exactly())
	f.must(claim("slug", "Alice", user1), claim("slug", "alice", user2), claim("slug", "what!", user3))
	g := f.reopened(folded())
	plan := g.recanonicalize(true)
	if plan.Counts[dibs.FindingCollision] != 1 || plan.Counts[dibs.FindingInvalid] != 1 {
		t.Fatalf("plan: %+v", plan)
	}
	for _, finding := range plan.Findings {
		switch finding.Kind {
		case dibs.FindingCollision:
			if finding.Name.Entity != user1 || finding.With.Entity != user2 || finding.To != "alice" {
				t.Errorf("%+v", finding)
			}
		case dibs.FindingInvalid:
			if finding.Name.Entity != user3 || finding.Why == "" {
				t.Errorf("%+v", finding)
			}
		default:
			t.Errorf("%+v", finding)
		}
	}
	before := f.dump()
	_, err := g.Recanonicalize(g.ctx, dibs.RecanonicalizeRequest{Namespace: "slug"})
	f.checkError(err, dibs.ErrNameTaken)
	after := f.dump()
	if !reflect.DeepEqual(before.Events, after.Events) {
		t.Error("names were changed")
	}
	f.must(rename("slug", "alice-2", user2), dibs.Decommission{Namespace: "slug", Value: "alice", Entity: user2})
	f.must(rename("slug", "what", user3), dibs.Decommission{Namespace: "slug", Value: "what!", Entity: user3})
	g.recanonicalize(false)
	g.must(claim("slug", "new", dibs.Entity{Type: "user", ID: "9"}))
}

// Names of one entity that become the same become one.
func TestRecanonicalizeMerges(t *testing.T) {
	t.Parallel()
	for _, active := range []string{"Alice", "alice", "ALICE"} {
		t.Run(active, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, exactly())
			f.must(claim("slug", "old", user1))
			for _, value := range []string{"ALICE", "alice", "Alice"} {
				f.must(rename("slug", value, user1))
			}
			if active != "Alice" {
				f.must(rename("slug", active, user1))
			}
			g := f.reopened(folded())
			report := g.recanonicalize(false)
			if report.Counts[dibs.FindingMerge]+report.Counts[dibs.FindingChange] != 2 || report.Counts[dibs.FindingMerge] == 0 {
				t.Errorf("%+v", report.Counts)
			}
			info, err := g.Entity(g.ctx, "", user1)
			if err != nil || len(info.Names) != 2 || info.Names[0].State != dibs.Active || info.Names[0].Canonical != "alice" {
				t.Errorf("%+v, %v", info, err)
			}
			if r, _ := g.Resolve(g.ctx, "slug", "old"); r.Outcome != dibs.ResolveMoved || r.To.Canonical != "alice" {
				t.Errorf("%+v", r)
			}
			g.must(rename("slug", "other", user1))
			if r, _ := g.Resolve(g.ctx, "slug", "aLICE"); r.Outcome != dibs.ResolveMoved || r.To.Canonical != "other" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Refusing look-alikes in a namespace in use files all names, and says which
// collide. Those stay.
func TestRecanonicalizeForLookAlikes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, exactly())
	f.must(claim("slug", "paypal", user1), claim("slug", "paypa1", user2), claim("slug", "shop", user3))
	g := f.reopened(looks(dibs.Policy{}))
	g.refused(dibs.ErrUnavailable, reserve("slug", "5hop", token1))
	report := g.recanonicalize(false)
	if report.Counts[dibs.FindingLookAlike] != 1 || report.Done != 3 {
		t.Errorf("%+v", report)
	}
	g.confusable(reserve("slug", "5hop", token1))
	if e := g.refused(dibs.ErrNameTaken, reserve("slug", "paypa1", token1)); e.Reason != dibs.ReasonInUse {
		t.Errorf("%+v", e)
	}
}

// Interrupted at any commit, it goes on when it is run again.
func TestRecanonicalizeInterrupted(t *testing.T) {
	t.Parallel()
	for stop := 1; ; stop++ {
		f := newFixture(t, exactly())
		for i := range 8 {
			f.must(claim("slug", fmt.Sprintf("Name-%d", i), dibs.Entity{Type: "user", ID: fmt.Sprint(i)}))
		}
		ctx, cancel := context.WithCancel(f.ctx)
		store := &stoppingStore{Store: f.store, left: stop, stop: cancel}
		reg := mustOpen(t, store, dibs.Config{Policies: folded(), MaxBatch: 2})
		_, err := reg.Recanonicalize(ctx, dibs.RecanonicalizeRequest{Namespace: "slug"})
		cancel()
		if err == nil {
			return // it was done before
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		g := f.reopened(folded())
		g.recanonicalize(false)
		for i := range 8 {
			if n := g.name("slug", fmt.Sprintf("NAME-%d", i)); n.State != dibs.Active || n.Epoch != 1 {
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
	f := newFixture(t, exactly())
	f.must(claim("slug", "x", user1))
	hidden := f.reopened(map[string]dibs.Policy{"slug": {Blind: []dibs.BlindKey{keyA}}})
	_, err := hidden.Recanonicalize(f.ctx, dibs.RecanonicalizeRequest{Namespace: "slug"})
	f.checkError(err, dibs.ErrInvalidNamespace)
	_, err = f.Recanonicalize(f.ctx, dibs.RecanonicalizeRequest{Namespace: "not a namespace"})
	f.checkError(err, dibs.ErrInvalidNamespace)
	_, err = f.as("somebody", 0).Recanonicalize(f.ctx, dibs.RecanonicalizeRequest{Namespace: "slug"})
	f.checkError(err, dibs.ErrNotOwner)
}
