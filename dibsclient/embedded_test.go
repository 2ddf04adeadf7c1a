package dibsclient_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/storetest"
)

var start = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// step is one call of a registry.
type step struct {
	name  string
	wait  time.Duration // before the call
	loose bool          // the client finds the error itself, with another message
	do    func(ctx context.Context, reg *dibs.Registry) (any, error)
}

// run returns the step of a verb and its argument.
func run[A, R any](name string, verb func(*dibs.Registry, context.Context, A) (R, error), arg A) step {
	return step{name: name, do: func(ctx context.Context, reg *dibs.Registry) (any, error) { return verb(reg, ctx, arg) }}
}

// feedPage reads a page of the feed, without the generation, which is local to a process.
func feedPage(name string, query dibs.FeedQuery) step {
	return step{name: name, do: func(ctx context.Context, reg *dibs.Registry) (any, error) {
		page, err := reg.Events(ctx, query)
		page.Generation = 0
		return page, err
	}}
}

func list(name string, commands ...dibs.Command) step {
	return step{name: name, do: func(ctx context.Context, reg *dibs.Registry) (any, error) { return reg.Apply(ctx, commands...) }}
}

func ask(name string, do func(ctx context.Context, reg *dibs.Registry) (any, error)) step {
	return step{name: name, do: do}
}

func resolve(value string) step {
	return ask("resolve "+value, func(ctx context.Context, reg *dibs.Registry) (any, error) { return reg.Resolve(ctx, "slug", value) })
}

func after(wait time.Duration, s step) step {
	s.wait = wait
	return s
}

func loosely(s step) step {
	s.loose = true
	return s
}

// holdsOf returns what a program keeps of holds.
func holdsOf(token string, ids ...dibs.ID) (holds []dibs.Hold) {
	for _, id := range ids {
		holds = append(holds, dibs.Hold{Name: dibs.Name{ID: id}, Token: token})
	}
	return holds
}

const token3 = "the-token-of-two-names"

var (
	account = dibs.Entity{Type: "account", ID: "7"}
	both    = holdsOf(token3, dibs.NameID("slug", "both"), dibs.NameID("email", "both@x"))
	others  = holdsOf(token3, dibs.NameID("slug", "both-2"), dibs.NameID("email", "both-2@x"))
)

func releaseBoth(ctx context.Context, reg *dibs.Registry) (any, error) {
	return reg.ReleaseAll(ctx, both)
}

func confirmBoth(ctx context.Context, reg *dibs.Registry) (any, error) {
	return reg.ConfirmAll(ctx, both, account)
}

func confirmOthers(ctx context.Context, reg *dibs.Registry) (any, error) {
	return reg.ConfirmAll(ctx, others, account)
}

// lowerCase is a profile that refuses spaces.
type lowerCase struct{}

func (lowerCase) Name() string { return "lower/1" }

func (lowerCase) Canonical(value string) (string, error) {
	if i := strings.Index(value, " "); i >= 0 {
		return "", &dibs.Refusal{Rule: "space", Problem: "has a space", At: i, Try: strings.ReplaceAll(value, " ", "-")}
	}
	return strings.ToLower(value), nil
}

func stepPolicies() map[string]dibs.Policy {
	return map[string]dibs.Policy{
		"slug": {
			Profile: lowerCase{}, Quarantine: time.Hour, RedirectStatus: 308, ArchivedStatus: 410,
			ReservedWords: dibs.WordList("admin"),
		},
		"doubtful": {Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) {
			return dibs.Unknown, errors.New("unknown")
		}},
		"few":    {MaxHolds: 1},
		"email":  {ManyPerEntity: true},
		"secret": {Blind: []dibs.BlindKey{{ID: "k1", Secret: []byte(strings.Repeat("k", 32))}}},
	}
}

// steps are all verbs, with their refusals.
func steps() []step {
	id := dibs.NameID
	odd := dibs.Entity{Type: "a/b c", ID: "../ü?%2F#"}
	dots := dibs.Entity{Type: ".", ID: ".."}
	return []step{
		run("reserve", (*dibs.Registry).Reserve, dibs.Reserve{
			Namespace: "slug", Value: "Alice", TTL: dibs.For(time.Minute), Token: token1, Entity: user1, CorrelationID: "c1",
			Meta: map[string]string{"plan": "gold"}, Field: "url",
		}),
		run("replay", (*dibs.Registry).Reserve, dibs.Reserve{Namespace: "slug", Value: "alice", Token: token1, Entity: user1}),
		run("taken", (*dibs.Registry).Reserve, dibs.Reserve{Namespace: "slug", Value: "alice", Token: token2, Field: "url"}),
		run("invalid value", (*dibs.Registry).Reserve, dibs.Reserve{Namespace: "slug", Value: "a b", Token: token2}),
		run("invalid namespace", (*dibs.Registry).Reserve, dibs.Reserve{Namespace: "Slug!", Value: "a", Token: token2}),
		run("invalid token", (*dibs.Registry).Reserve, dibs.Reserve{Namespace: "slug", Value: "a", Token: "short"}),
		run("zero ttl", (*dibs.Registry).Reserve, dibs.Reserve{Namespace: "slug", Value: "a", Token: token2, TTL: dibs.For(0)}),
		run("long ttl", (*dibs.Registry).Reserve, dibs.Reserve{Namespace: "slug", Value: "a", Token: token2, TTL: dibs.For(1000 * time.Hour)}),
		run("reserved word", (*dibs.Registry).Reserve, dibs.Reserve{Namespace: "slug", Value: "admin", Token: token2}),
		run("override", (*dibs.Registry).Reserve, dibs.Reserve{Namespace: "slug", Value: "admin", Token: token2, OverrideReserved: true}),
		run("one of few", (*dibs.Registry).Reserve, dibs.Reserve{Namespace: "few", Value: "a", Token: token1}),
		run("too many", (*dibs.Registry).Reserve, dibs.Reserve{Namespace: "few", Value: "b", Token: token1}),
		run("get", (*dibs.Registry).Get, dibs.Lookup{ID: id("slug", "alice"), Version: true}),
		run("get nothing", (*dibs.Registry).Get, dibs.Lookup{ID: id("slug", "nobody"), Version: true}),
		run("get inactive", (*dibs.Registry).Get, dibs.Lookup{Namespace: "slug", Value: "ALICE", ActiveOnly: true}),
		after(time.Second, run("extend", (*dibs.Registry).Extend, dibs.Extend{ID: id("slug", "alice"), Token: token1, TTL: dibs.For(time.Hour)})),
		run("lost", (*dibs.Registry).Extend, dibs.Extend{ID: id("slug", "alice"), Token: token2}),
		run("confirm for another", (*dibs.Registry).Confirm, dibs.Confirm{ID: id("slug", "alice"), Token: token1, Entity: user2}),
		run("confirm", (*dibs.Registry).Confirm, dibs.Confirm{ID: id("slug", "alice"), Token: token1, Entity: user1}),
		run("confirm again", (*dibs.Registry).Confirm, dibs.Confirm{ID: id("slug", "alice"), Token: token1, Entity: user1}),
		run("release too late", (*dibs.Registry).Release, dibs.Release{ID: id("slug", "alice"), Token: token1}),
		run("release", (*dibs.Registry).Release, dibs.Release{ID: id("slug", "admin"), Token: token2}),
		run("release again", (*dibs.Registry).Release, dibs.Release{ID: id("slug", "admin"), Token: token2}),
		run("get active", (*dibs.Registry).Get, dibs.Lookup{Namespace: "slug", Value: "ALICE", ActiveOnly: true, Version: true}),
		resolve("alice"),
		run("rename", (*dibs.Registry).Rename, dibs.Rename{Namespace: "slug", Entity: user1, Value: "Bob", IfVersion: 1}),
		run("stale", (*dibs.Registry).Rename, dibs.Rename{Namespace: "slug", Entity: user1, Value: "Carol", IfVersion: 1}),
		resolve("alice"), resolve("bob"), resolve("nobody"), resolve("not valid"),
		run("claim", (*dibs.Registry).Claim, dibs.Claim{Namespace: "slug", Value: "dora", Entity: user2}),
		run("has a name", (*dibs.Registry).Claim, dibs.Claim{Namespace: "slug", Value: "emil", Entity: user2}),
		run("swap", (*dibs.Registry).Swap, dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "bob", Entity: user1}, B: dibs.Named{Value: "dora", Entity: user2}}),
		run("transfer", (*dibs.Registry).Transfer, dibs.Transfer{Namespace: "slug", Value: "alice", From: user1, To: user3}),
		run("transfer an unknown name", (*dibs.Registry).Transfer, dibs.Transfer{Namespace: "slug", Value: "zoe", From: user1, To: user3}),
		run("archive", (*dibs.Registry).Archive, dibs.Archive{Entity: user1}),
		resolve("dora"),
		run("archived", (*dibs.Registry).Rename, dibs.Rename{Namespace: "slug", Entity: user1, Value: "fritz"}),
		run("restore", (*dibs.Registry).Restore, dibs.Restore{Entity: user1}),
		run("no such entity", (*dibs.Registry).Restore, dibs.Restore{Entity: dibs.Entity{Type: "user", ID: "9"}}),
		run("decommission", (*dibs.Registry).Decommission, dibs.Decommission{Namespace: "slug", Value: "dora", Entity: user1}),
		run("quarantined", (*dibs.Registry).Reserve, dibs.Reserve{Namespace: "slug", Value: "dora", Token: token2}),
		resolve("dora"),
		run("delete", (*dibs.Registry).Delete, dibs.Delete{Entity: user2}),
		run("delete again", (*dibs.Registry).Delete, dibs.Delete{Entity: user2}),
		run("reserve all", (*dibs.Registry).ReserveAll, dibs.ReserveAll{Token: token1, Reservations: []dibs.Reserve{
			{Namespace: "slug", Value: "g"}, {Namespace: "acme.slug", Value: "g"},
		}}),
		run("reserve all, taken", (*dibs.Registry).ReserveAll, dibs.ReserveAll{Token: token2, Reservations: []dibs.Reserve{
			{Namespace: "slug", Value: "h"}, {Namespace: "slug", Value: "g", Field: "second"}, {Namespace: "slug", Value: "alice"},
		}}),
		ask("confirm all, one lost", func(ctx context.Context, reg *dibs.Registry) (any, error) {
			return reg.ConfirmAll(ctx, holdsOf(token1, id("slug", "g"), id("slug", "alice")), user1)
		}),
		ask("release all, one confirmed", func(ctx context.Context, reg *dibs.Registry) (any, error) {
			return reg.ReleaseAll(ctx, holdsOf(token1, id("acme.slug", "g"), id("slug", "alice")))
		}),
		run("hold two", (*dibs.Registry).ReserveAll, dibs.ReserveAll{Token: token3, Reservations: []dibs.Reserve{
			{Namespace: "slug", Value: "both"}, {Namespace: "email", Value: "both@x"},
		}}),
		ask("release all", releaseBoth), ask("release all again", releaseBoth),
		ask("confirm all, released", confirmBoth),
		run("hold them late", (*dibs.Registry).ReserveAll, dibs.ReserveAll{Token: token3, Reservations: []dibs.Reserve{
			{Namespace: "slug", Value: "both"}, {Namespace: "email", Value: "both@x"},
		}}),
		run("hold two others", (*dibs.Registry).ReserveAll, dibs.ReserveAll{Token: token3, Reservations: []dibs.Reserve{
			{Namespace: "slug", Value: "both-2"}, {Namespace: "email", Value: "both-2@x"},
		}}),
		ask("confirm all", confirmOthers), ask("confirm all again", confirmOthers),
		ask("confirm nothing", func(ctx context.Context, reg *dibs.Registry) (any, error) { return reg.ConfirmAll(ctx, nil, user1) }),
		run("reserve first", (*dibs.Registry).ReserveFirst, dibs.ReserveFirst{Namespace: "slug", Values: []string{"g", "i i", "j"}, Token: token2}),
		run("none to reserve", (*dibs.Registry).ReserveFirst, dibs.ReserveFirst{Namespace: "slug", Values: []string{"g", "alice"}, Token: "another-token-altogether"}),
		list("a list", dibs.Claim{Namespace: "slug", Value: "k", Entity: user2}, dibs.Archive{Entity: user2}, &dibs.Restore{Entity: user2}),
		list("a list, refused", dibs.Claim{Namespace: "slug", Value: "l", Entity: user2}, dibs.Claim{Namespace: "slug", Value: "g", Entity: odd}),
		list("nothing"),
		list("many names", dibs.Claim{Namespace: "email", Value: "a@x", Entity: odd}, dibs.Claim{Namespace: "email", Value: "b@x", Entity: odd}),
		run("rename which", (*dibs.Registry).Rename, dibs.Rename{Namespace: "email", Entity: odd, Value: "c@x"}),
		run("rename from", (*dibs.Registry).Rename, dibs.Rename{Namespace: "email", Entity: odd, Value: "c@x", From: "a@x"}),
		run("dots", (*dibs.Registry).Claim, dibs.Claim{Namespace: "acme.slug", Value: "dots", Entity: dots}),
		ask("dry run", func(ctx context.Context, reg *dibs.Registry) (any, error) {
			return reg.DryRun(ctx, dibs.Delete{Entity: odd})
		}),
		ask("entity", func(ctx context.Context, reg *dibs.Registry) (any, error) { return reg.Entity(ctx, "", odd) }),
		ask("entity of dots", func(ctx context.Context, reg *dibs.Registry) (any, error) { return reg.Entity(ctx, "acme", dots) }),
		ask("entity without a name", func(ctx context.Context, reg *dibs.Registry) (any, error) { return reg.Entity(ctx, "acme", odd) }),
		ask("entity without an id", func(ctx context.Context, reg *dibs.Registry) (any, error) {
			return reg.Entity(ctx, "", dibs.Entity{Type: "user"})
		}),
		run("doubtful", (*dibs.Registry).Reserve, dibs.Reserve{Namespace: "doubtful", Value: "x", Token: token1, TTL: dibs.For(time.Second)}),
		after(time.Minute, ask("sweep", func(ctx context.Context, reg *dibs.Registry) (any, error) {
			report, err := reg.Sweep(ctx, 100)
			report.Took = 0
			return report, err
		})),
		run("suspect", (*dibs.Registry).Reserve, dibs.Reserve{Namespace: "doubtful", Value: "x", Token: token2}),
		run("get suspect", (*dibs.Registry).Get, dibs.Lookup{Namespace: "doubtful", Value: "x", Version: true}),
		loosely(run("settle without a verdict", (*dibs.Registry).Settle, dibs.Settle{ID: id("doubtful", "x")})),
		run("settle", (*dibs.Registry).Settle, dibs.Settle{ID: id("doubtful", "x"), Verdict: dibs.Exists(user3)}),
		run("settle otherwise", (*dibs.Registry).Settle, dibs.Settle{ID: id("doubtful", "x"), Verdict: dibs.Absent}),
		run("blind", (*dibs.Registry).Claim, dibs.Claim{Namespace: "secret", Value: "me@example.com", Entity: user1}),
		run("rekey", (*dibs.Registry).Rekey, dibs.Rekey{Namespace: "secret", Value: "me@example.com"}),
		after(2*time.Hour, run("expired", (*dibs.Registry).Confirm, dibs.Confirm{ID: id("slug", "g"), Token: token1, Entity: user1})),
		run("check", (*dibs.Registry).Check, dibs.CheckRequest{
			Namespace: "slug", Values: []string{"alice", "free", "a b", "admin", "dora"}, Suggest: 2, Parts: []string{"paris"}, Entity: user1,
		}),
		run("check nothing", (*dibs.Registry).Check, dibs.CheckRequest{Namespace: "slug"}),
		run("check an entity", (*dibs.Registry).Check, dibs.CheckRequest{Namespace: "slug", Values: []string{"a"}, Entity: dibs.Entity{Type: "x"}}),
		run("list", (*dibs.Registry).List, dibs.NamesQuery{Namespace: "slug", Limit: 2}),
		run("list free", (*dibs.Registry).List, dibs.NamesQuery{State: dibs.Free, Prefix: "a"}),
		run("list a state", (*dibs.Registry).List, dibs.NamesQuery{State: "lost"}),
		run("list a cursor", (*dibs.Registry).List, dibs.NamesQuery{Cursor: "!"}),
		ask("history", func(ctx context.Context, reg *dibs.Registry) (any, error) { return reg.History(ctx, "slug", "alice") }),
		ask("the end of a history", func(ctx context.Context, reg *dibs.Registry) (any, error) {
			return reg.HistoryPage(ctx, dibs.HistoryQuery{Namespace: "slug", Value: "alice", Limit: 2})
		}),
		ask("a history in pages", func(ctx context.Context, reg *dibs.Registry) (any, error) {
			var all []dibs.Event
			for query := (dibs.HistoryQuery{Namespace: "slug", Value: "alice", Limit: 2}); ; {
				page, err := reg.HistoryPage(ctx, query)
				if all = append(page.Events, all...); err != nil || page.Next == "" {
					return all, err
				}
				query.Cursor = page.Next
			}
		}),
		run("history after an invalid cursor", (*dibs.Registry).HistoryPage, dibs.HistoryQuery{Namespace: "slug", Value: "alice", Cursor: "nowhere"}),
		ask("no history", func(ctx context.Context, reg *dibs.Registry) (any, error) { return reg.History(ctx, "slug", "nobody") }),
		ask("who held", func(ctx context.Context, reg *dibs.Registry) (any, error) {
			return reg.WhoHeld(ctx, "slug", "alice", start.Add(time.Second))
		}),
		ask("who held at the zero time", func(ctx context.Context, reg *dibs.Registry) (any, error) {
			return reg.WhoHeld(ctx, "slug", "alice", time.Time{})
		}),
		feedPage("events", dibs.FeedQuery{Namespace: "slug", Limit: 5}),
		feedPage("all events", dibs.FeedQuery{Limit: 5000}),
		run("events after an invalid cursor", (*dibs.Registry).Events, dibs.FeedQuery{After: "nowhere"}),
		run("conflicts", (*dibs.Registry).Conflicts, dibs.ConflictsQuery{Namespace: "slug", From: start, To: start.Add(time.Hour)}),
		run("remaining", (*dibs.Registry).RemainingTTL, id("slug", "alice")),
		run("forget, dry run", (*dibs.Registry).Forget, dibs.ForgetRequest{Entity: user3, DryRun: true}),
		run("forget", (*dibs.Registry).Forget, dibs.ForgetRequest{Entity: user3}),
		run("forget again", (*dibs.Registry).Forget, dibs.ForgetRequest{Entity: user3}),
		run("forget nothing", (*dibs.Registry).Forget, dibs.ForgetRequest{}),
		run("forget a name", (*dibs.Registry).Forget, dibs.ForgetRequest{Namespace: "secret", Value: "me@example.com", Entity: user1}),
		run("forget a name of another entity", (*dibs.Registry).Forget, dibs.ForgetRequest{Namespace: "slug", Value: "k", Entity: user1}),
		run("get a forgotten one", (*dibs.Registry).Get, dibs.Lookup{Namespace: "slug", Value: "alice"}),
		feedPage("events with a forgotten one", dibs.FeedQuery{Limit: 5000}),
		run("recanonicalize", (*dibs.Registry).Recanonicalize, dibs.RecanonicalizeRequest{Namespace: "slug"}),
		run("recanonicalize nothing", (*dibs.Registry).Recanonicalize, dibs.RecanonicalizeRequest{Namespace: "!"}),
		loosely(run("broken value", (*dibs.Registry).Claim, dibs.Claim{Namespace: "slug", Value: "a\xff", Entity: user3})),
		loosely(run("resolve broken", (*dibs.Registry).Get, dibs.Lookup{Namespace: "a\xff", Value: "x"})),
	}
}

func TestSameResultsAsEmbedded(t *testing.T) {
	t.Parallel()
	now := storetest.NewClock(start)
	cfg := dibs.Config{Policies: stepPolicies()}
	embedded, served := open(t, cfg, now.Now), open(t, cfg, now.Now)
	web := httptest.NewServer(newHandler(served, "the-key"))
	defer web.Close()
	remote := dial(t, web.URL+"/", dibsclient.Options{Key: "the-key"})

	for _, s := range steps() {
		now.Advance(s.wait)
		want, wantErr := s.do(t.Context(), embedded)
		got, gotErr := s.do(t.Context(), remote)
		if !s.loose && !reflect.DeepEqual(exported(gotErr), exported(wantErr)) {
			t.Errorf("%s: the error is\n%#v, embedded\n%#v", s.name, exported(gotErr), exported(wantErr))
		}
		if !sameCode(gotErr, wantErr) {
			t.Errorf("%s: the error is %v, embedded %v", s.name, gotErr, wantErr)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", s.name, got, want)
		}
	}
}

// exported returns the exported fields of an error of the library, and any other error as
// it is.
func exported(err error) any {
	var e *dibs.Error
	if !errors.As(err, &e) {
		return err
	}
	type failure struct {
		index int
		err   any
	}
	var failures []failure
	for _, f := range e.Failures {
		failures = append(failures, failure{f.Index, exported(f.Err)})
	}
	return []any{e.Code, e.Message, e.Field, e.Namespace, e.Key, e.Reason, e.Until, e.Suggestions, e.Refusal, failures}
}

func sameCode(a, b error) bool {
	var x, y *dibs.Error
	if errors.As(a, &x) != errors.As(b, &y) {
		return false
	}
	return x == nil || x.Code == y.Code
}
