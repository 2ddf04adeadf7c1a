package core_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/calldibs/dibs"
)

// Each command of a list may reveal what the next one has to look at. However long
// that takes, neither the list nor its neighbours in the batch fail for it.
func TestAListMayAskManyTimes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	hold, err := f.Reserve(f.ctx, dibs.Reserve{Namespace: "acme.slug", Value: "x"})
	if err != nil {
		t.Fatal(err)
	}
	var confirms, chain []dibs.Command
	for i := range 20 {
		entity := dibs.Entity{Type: "user", ID: fmt.Sprint(i)}
		f.must(claim("acme.slug", fmt.Sprint("own-", i), entity))
		confirms = append(confirms, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: entity})
		if i > 0 {
			chain = append(chain, dibs.Delete{Scope: "acme", Entity: entity}, claim("acme.slug", "own-1", entity))
		}
		if len(chain) >= 30 {
			break
		}
	}
	f.refused(dibs.ErrEntityHasName, confirms...)
	if _, err := f.Apply(f.ctx, chain...); errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("a long chain: %v", err)
	}
}

// panicky is a profile with a bug.
type panicky struct{}

func (panicky) Name() string { return "panicky/1" }

func (panicky) Canonical(value string) (string, error) {
	if value == "boom" {
		panic("a bug in the profile")
	}
	return value, nil
}

func TestAProfileThatPanics(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {Profile: panicky{}, ManyPerEntity: true}})
	f.refused(dibs.ErrInvalidValue, reserve("slug", "boom", token1))
	f.must(claim("slug", "a", user1), reserve("slug", "b", token1))
	f.refused(dibs.ErrInvalidValue, dibs.Confirm{ID: dibs.NameID("slug", "b"), Token: token1, Entity: user1, Replaces: "boom"})
}

// A commit may come long after its decision. A hold that is over by then is none, and
// a name that came and was purged meanwhile has not been forgotten.
func TestCommitsThatComeLate(t *testing.T) {
	t.Parallel()
	t.Run("a hold that is over", func(t *testing.T) {
		t.Parallel()
		f, s := newSpy(t)
		s.commit = f.once(s, func() { f.clock.advance(10 * time.Second) })
		n := f.one(dibs.Reserve{Namespace: "slug", Value: "x", TTL: dibs.For(5 * time.Second)})
		if want := f.clock.Now().Add(5 * time.Second); !n.ExpiresAt.Equal(want) {
			t.Errorf("it ends at %v, want %v: it was answered when it was over", n.ExpiresAt, want)
		}
	})
	t.Run("a name that was purged", func(t *testing.T) {
		t.Parallel()
		f, s := newSpy(t)
		other := f.reopened(map[string]dibs.Policy{"slug": {HoldHistory: dibs.MinHoldHistory}})
		s.commit = f.once(s, func() {
			other.must(reserve("slug", "x", token2), dibs.Release{ID: dibs.NameID("slug", "x"), Token: token2})
			f.clock.advance(dibs.MinHoldHistory)
			other.sweep()
		})
		if n := f.one(reserve("slug", "x", token1)); n.Epoch != 2 {
			t.Errorf("the epoch is %d again", n.Epoch)
		}
	})
}

// A policy that changes to many names, or back, breaks no old link.
func TestRedirectsSurviveAChangeOfPolicy(t *testing.T) {
	t.Parallel()
	for _, many := range []bool{false, true} {
		f := newFixture(t, map[string]dibs.Policy{"slug": {ManyPerEntity: many}})
		f.must(claim("slug", "a", user1), dibs.Rename{Namespace: "slug", Entity: user1, From: "a", Value: "b"})
		g := f.reopened(map[string]dibs.Policy{"slug": {ManyPerEntity: !many}})
		g.must(dibs.Rename{Namespace: "slug", Entity: user1, From: "b", Value: "c"})
		g.wantLeads("slug", "a", 301, "c")
		g.wantLeads("slug", "b", 301, "c")
		g.must(decommission("slug", "c", user1))
		g.wantLeads("slug", "a", 410, "")
	}
}

// What a witness says may be anything. It is kept as a text that every engine takes.
func TestDoubtIsPlainText(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) {
		return dibs.Unknown, errors.New("\x00bad\xff" + strings.Repeat("é", 300))
	}}})
	f.must(reserve("slug", "x", token1))
	f.clock.advance(aHold)
	f.sweep()
	doubt := f.name("slug", "x").Doubt
	if !utf8.ValidString(doubt) || strings.ContainsRune(doubt, 0) || len(doubt) > 300 || !strings.Contains(doubt, "bad") {
		t.Errorf("%q", doubt)
	}
}

// A sweeper that has no witness does not make the one that has it wait ever longer.
func TestSweepersWithoutAWitnessDoNotSlowItDown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {Witness: alwaysUnknown}})
	f.must(reserve("slug", "x", token1))
	without := f.reopened(nil)
	f.clock.advance(aHold)
	for range 10 {
		without.sweep()
		f.clock.advance(5 * time.Second)
	}
	if report := f.sweep(); report.Suspects != 1 {
		t.Errorf("after ten sweeps without a witness it is not due: %+v", report)
	}
}

func TestNoQuotaWithoutMaxHolds(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.must(reserve("slug", "x", token1))
	quotas, err := f.store.List(f.ctx, dibs.ListQuery{Kind: dibs.KindQuota, Limit: 10})
	if err != nil || len(quotas) != 0 {
		t.Errorf("%d quotas are kept, %v", len(quotas), err)
	}
}

// What a rename is part of stands in the event, whatever the new name was.
func TestRenameKeepsTheCorrelationID(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	last := func(value string) string {
		t.Helper()
		events, err := f.History(f.ctx, "slug", value)
		if err != nil {
			t.Fatal(err)
		}
		return events[len(events)-1].CorrelationID
	}
	to := func(value, correlation string) dibs.Rename {
		return dibs.Rename{Namespace: "slug", Entity: user1, Value: value, Token: token1, CorrelationID: correlation}
	}
	f.must(claim("slug", "a", user1), to("b", "c1")) // a free name
	f.must(to("a", "c2"))                            // its own alias
	f.must(reserve("slug", "c", token1), to("c", "c3"))
	if got := []string{last("b"), last("a"), last("c")}; got[0] != "c1" || got[2] != "c3" {
		t.Errorf("%v", got)
	}
	f.must(to("a", "c4"))
	if got := last("a"); got != "c4" {
		t.Errorf("revived with %q", got)
	}
}

// Labels are text that every engine can store: no control characters, NUL above all.
func TestLabelsArePlainText(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]dibs.Policy{"slug": {MaxHolds: 3}})
	f.as("ann/of:acme", 0).must(reserve("slug", "x", token1))
	f.refused(dibs.ErrNameTaken, reserve("slug", "x", token2))
	if _, err := f.Conflicts(f.ctx, dibs.ConflictsQuery{}); err != nil { // stores them
		t.Fatal(err)
	}
	for _, kind := range []dibs.Kind{dibs.KindQuota, dibs.KindTally} {
		records, err := f.store.List(f.ctx, dibs.ListQuery{Kind: kind, Limit: 10})
		if err != nil || len(records) != 1 {
			t.Fatalf("%s: %v, %v", kind, records, err)
		}
		if label := records[0].(*dibs.Document).Label; strings.ContainsFunc(label, unicode.IsControl) {
			t.Errorf("%s: %q", kind, label)
		}
	}
}
