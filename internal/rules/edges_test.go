package rules_test

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
	"github.com/calldibs/dibs/internal/coretest"
)

// Each command of a list may reveal what the next one has to look at. However long
// that takes, neither the list nor its neighbours in the batch fail for it.
func TestAListMayAskManyTimes(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	hold, err := f.Reserve(f.Ctx, dibs.Reserve{Namespace: "acme.slug", Value: "x"})
	if err != nil {
		t.Fatal(err)
	}
	var confirms, chain []dibs.Command
	for i := range 20 {
		entity := dibs.Entity{Type: "user", ID: fmt.Sprint(i)}
		f.Must(coretest.Claim("acme.slug", fmt.Sprint("own-", i), entity))
		confirms = append(confirms, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: entity})
		if i > 0 {
			chain = append(chain, dibs.Delete{Scope: "acme", Entity: entity}, coretest.Claim("acme.slug", "own-1", entity))
		}
		if len(chain) >= 30 {
			break
		}
	}
	f.Refused(dibs.ErrEntityHasName, confirms...)
	if _, err := f.Apply(f.Ctx, chain...); errors.Is(err, dibs.ErrUnavailable) {
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
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Profile: panicky{}, ManyPerEntity: true}})
	f.Refused(dibs.ErrInvalidValue, coretest.Reserve("slug", "boom", coretest.Token1))
	f.Must(coretest.Claim("slug", "a", coretest.User1), coretest.Reserve("slug", "b", coretest.Token1))
	f.Refused(dibs.ErrInvalidValue, dibs.Confirm{ID: dibs.NameID("slug", "b"), Token: coretest.Token1, Entity: coretest.User1, Replaces: "boom"})
}

// A commit may come long after its decision. A hold that is over by then is none, and
// a name that came and was purged meanwhile has not been forgotten.
func TestCommitsThatComeLate(t *testing.T) {
	t.Parallel()
	t.Run("a hold that is over", func(t *testing.T) {
		t.Parallel()
		f, s := coretest.NewSpy(t)
		s.OnCommit = f.Once(s, func() { f.Clock.Advance(10 * time.Second) })
		n := f.One(dibs.Reserve{Namespace: "slug", Value: "x", TTL: dibs.For(5 * time.Second)})
		if want := f.Clock.Now().Add(5 * time.Second); !n.ExpiresAt.Equal(want) {
			t.Errorf("it ends at %v, want %v: it was answered when it was over", n.ExpiresAt, want)
		}
	})
	t.Run("a name that was purged", func(t *testing.T) {
		t.Parallel()
		f, s := coretest.NewSpy(t)
		other := f.Reopened(map[string]dibs.Policy{"slug": {HoldHistory: dibs.MinHoldHistory}})
		s.OnCommit = f.Once(s, func() {
			other.Must(coretest.Reserve("slug", "x", coretest.Token2), dibs.Release{ID: dibs.NameID("slug", "x"), Token: coretest.Token2})
			f.Clock.Advance(dibs.MinHoldHistory)
			other.SweepAll()
		})
		if n := f.One(coretest.Reserve("slug", "x", coretest.Token1)); n.Epoch != 2 {
			t.Errorf("the epoch is %d again", n.Epoch)
		}
	})
}

// A policy that changes to many names, or back, breaks no old link.
func TestRedirectsSurviveAChangeOfPolicy(t *testing.T) {
	t.Parallel()
	for _, many := range []bool{false, true} {
		f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {ManyPerEntity: many}})
		f.Must(coretest.Claim("slug", "a", coretest.User1), dibs.Rename{Namespace: "slug", Entity: coretest.User1, From: "a", Value: "b"})
		g := f.Reopened(map[string]dibs.Policy{"slug": {ManyPerEntity: !many}})
		g.Must(dibs.Rename{Namespace: "slug", Entity: coretest.User1, From: "b", Value: "c"})
		g.WantLeads("slug", "a", 301, "c")
		g.WantLeads("slug", "b", 301, "c")
		g.Must(coretest.Decommission("slug", "c", coretest.User1))
		g.WantLeads("slug", "a", 410, "")
	}
}

// What a witness says may be anything. It is kept as a text that every engine takes.
func TestDoubtIsPlainText(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) {
		return dibs.Unknown, errors.New("\x00bad\xff" + strings.Repeat("é", 300))
	}}})
	f.Must(coretest.Reserve("slug", "x", coretest.Token1))
	f.Clock.Advance(aHold)
	f.SweepAll()
	doubt := f.NameOf("slug", "x").Doubt
	if !utf8.ValidString(doubt) || strings.ContainsRune(doubt, 0) || len(doubt) > 300 || !strings.Contains(doubt, "bad") {
		t.Errorf("%q", doubt)
	}
}

// A sweeper that has no witness does not make the one that has it wait ever longer.
func TestSweepersWithoutAWitnessDoNotSlowItDown(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Witness: coretest.AlwaysUnknown}})
	f.Must(coretest.Reserve("slug", "x", coretest.Token1))
	without := f.Reopened(nil)
	f.Clock.Advance(aHold)
	for range 10 {
		without.SweepAll()
		f.Clock.Advance(5 * time.Second)
	}
	if report := f.SweepAll(); report.Suspects != 1 {
		t.Errorf("after ten sweeps without a witness it is not due: %+v", report)
	}
}

func TestNoQuotaWithoutMaxHolds(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Reserve("slug", "x", coretest.Token1))
	quotas, err := f.Engine.List(f.Ctx, dibs.ListQuery{Kind: dibs.KindQuota, Limit: 10})
	if err != nil || len(quotas) != 0 {
		t.Errorf("%d quotas are kept, %v", len(quotas), err)
	}
}

// What a rename is part of stands in the event, whatever the new name was.
func TestRenameKeepsTheCorrelationID(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	last := func(value string) string {
		t.Helper()
		events, err := f.History(f.Ctx, "slug", value)
		if err != nil {
			t.Fatal(err)
		}
		return events[len(events)-1].CorrelationID
	}
	to := func(value, correlation string) dibs.Rename {
		return dibs.Rename{Namespace: "slug", Entity: coretest.User1, Value: value, Token: coretest.Token1, CorrelationID: correlation}
	}
	f.Must(coretest.Claim("slug", "a", coretest.User1), to("b", "c1")) // a free name
	f.Must(to("a", "c2"))                                              // its own alias
	f.Must(coretest.Reserve("slug", "c", coretest.Token1), to("c", "c3"))
	if got := []string{last("b"), last("a"), last("c")}; got[0] != "c1" || got[2] != "c3" {
		t.Errorf("%v", got)
	}
	f.Must(to("a", "c4"))
	if got := last("a"); got != "c4" {
		t.Errorf("revived with %q", got)
	}
}

// Labels are text that every engine can store: no control characters, NUL above all.
func TestLabelsArePlainText(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {MaxHolds: 3}})
	f.ActAs("ann/of:acme", 0).Must(coretest.Reserve("slug", "x", coretest.Token1))
	f.Refused(dibs.ErrNameTaken, coretest.Reserve("slug", "x", coretest.Token2))
	if _, err := f.Conflicts(f.Ctx, dibs.ConflictsQuery{}); err != nil { // stores them
		t.Fatal(err)
	}
	for _, kind := range []dibs.Kind{dibs.KindQuota, dibs.KindTally} {
		records, err := f.Engine.List(f.Ctx, dibs.ListQuery{Kind: kind, Limit: 10})
		if err != nil || len(records) != 1 {
			t.Fatalf("%s: %v, %v", kind, records, err)
		}
		if label := records[0].(*dibs.Document).Label; strings.ContainsFunc(label, unicode.IsControl) {
			t.Errorf("%s: %q", kind, label)
		}
	}
}
