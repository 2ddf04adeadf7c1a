package rules_test

import (
	"slices"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/rules"
)

// groupOf decides a command that must change something, and returns its group and the ends that it
// rests on.
func groupOf(f *coretest.Fixture, policies map[string]dibs.Policy, command dibs.Command) (dibs.Group, []rules.PastEnd) {
	f.T.Helper()
	request := mustApply(f.T, mustPolicies(f.T, policies), command)
	b, _ := decide(f, request)
	groups, _, _ := b.Groups([]*rules.Request{request})
	if _, refused := request.Result(); refused != nil || len(groups) != 1 {
		f.T.Fatalf("%#v: %v, %d groups", command, refused, len(groups))
	}
	return groups[0], request.PastEnds()
}

// A decision that depends on time is right from the last end that has come until the next one, and
// rests on the ends that no commit has written.
func TestWindows(t *testing.T) {
	t.Parallel()
	policies := map[string]dibs.Policy{
		"slug": {}, "watched": {Witness: coretest.AlwaysUnknown}, "kept": {Quarantine: time.Hour, AliasRetention: time.Hour},
	}
	f := coretest.NewFixture(t, policies)
	begin := dibs.InstantOf(f.Clock.Now())
	hold := begin.Add(aHold)
	f.Must(coretest.Reserve("slug", "held", coretest.Token1), coretest.Reserve("slug", "over", coretest.Token1), coretest.Reserve("watched", "w", coretest.Token1))
	f.Must(coretest.Claim("kept", "alias", coretest.User1), coretest.Rename("kept", "active", coretest.User1))
	extend := func(namespace, value string) dibs.Extend {
		return dibs.Extend{ID: dibs.NameID(namespace, value), Token: coretest.Token1, TTL: dibs.For(time.Minute + aHold)}
	}
	for _, c := range []struct {
		what         string
		after        time.Duration
		command      dibs.Command
		from, before dibs.Instant
		past         int
	}{
		{"a new hold", time.Minute, coretest.Reserve("slug", "new", coretest.Token2), 0, hold.Add(time.Minute), 0},
		{"a hold that is extended", time.Minute, extend("slug", "held"), 0, hold, 0},
		{"a hold that is released", time.Minute, dibs.Release{ID: dibs.NameID("slug", "held"), Token: coretest.Token1}, 0, hold, 0},
		{"a new claim", time.Minute, coretest.Claim("slug", "new", coretest.User2), 0, 0, 0},
		{"an import", time.Minute, dibs.Import{Namespace: "slug", Value: "new", Entity: coretest.User2, Since: begin.Time()}, begin, 0, 0},
		{"a claim after a hold", aHold, coretest.Claim("slug", "over", coretest.User2), hold, 0, 1},
		{"a hold after a hold", aHold, coretest.Reserve("slug", "over", coretest.Token2), hold, hold.Add(aHold), 1},
		{"a suspect that is extended", aHold, extend("watched", "w"), hold, hold.Add(aHold + time.Minute), 1},
		{"a name that was an alias", time.Hour, coretest.Decommission("kept", "active", coretest.User1), 0, 0, 0},
		{"an alias in quarantine, for its owner", time.Hour, coretest.Rename("kept", "alias", coretest.User1), begin.Add(time.Hour), begin.Add(2 * time.Hour), 1},
		{"an alias after its quarantine", 2 * time.Hour, coretest.Claim("kept", "alias", coretest.User2), begin.Add(2 * time.Hour), 0, 1},
	} {
		f.Clock.Advance(begin.Add(c.after).Time().Sub(f.Clock.Now()))
		group, past := groupOf(f, policies, c.command)
		if want := (dibs.Window{From: c.from, Before: c.before}); group.Window != want || len(past) != c.past {
			t.Errorf("%s: the window is %+v, want %+v; it rests on %+v", c.what, group.Window, want, past)
		}
		before := make(map[dibs.ID]dibs.Snapshot)
		for _, e := range group.Events {
			if was, again := before[e.ID]; again && e.Before != was {
				t.Errorf("%s: %s begins with %+v, after %+v", c.what, e.Kind, e.Before, was)
			}
			before[e.ID] = e.After
		}
	}
}

// A caller may change the meta that it gave once the call has begun.
func TestMetaIsCopied(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	meta := map[string]string{"plan": "gold"}
	set := mustPolicies(t, nil)
	requests := []*rules.Request{
		mustApply(t, set, dibs.Reserve{Namespace: "slug", Value: "a", Meta: meta}),
		mustApply(t, set, dibs.Claim{Namespace: "slug", Value: "b", Entity: coretest.User1, Meta: meta}),
		mustApply(t, set, dibs.Import{Namespace: "slug", Value: "c", Entity: coretest.User2, Meta: meta}),
	}
	meta["plan"] = "none"
	commit(f, requests...)
	for _, value := range []string{"a", "b", "c"} {
		if n := f.NameOf("slug", value); n.Meta["plan"] != "gold" {
			t.Errorf("%s has the meta %v", value, n.Meta)
		}
	}
}

// A group has the events of all its members, in order. A name that is forgotten loses those of the
// members before.
func TestEventsOfAGroup(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	set := mustPolicies(t, nil)
	commit(f, mustApply(t, set, coretest.Claim("slug", "x", coretest.User1)), mustApply(t, set, coretest.Rename("slug", "y", coretest.User1)), mustApply(t, set, coretest.Rename("slug", "x", coretest.User1)))
	f.WantKinds("slug", "x", dibs.EventClaimed, dibs.EventDemoted, dibs.EventRevived)
	f.WantKinds("slug", "y", dibs.EventClaimed, dibs.EventDemoted)
	forget, refused := set.ForgetName(dibs.ForgetRequest{Namespace: "slug", Value: "y", Entity: coretest.User1})
	if refused != nil {
		t.Fatal(refused)
	}
	commit(f, mustApply(t, set, coretest.Decommission("slug", "y", coretest.User1)), forget.Request)
	f.WantKinds("slug", "y", dibs.EventForgotten)
	f.WantKinds("slug", "x", dibs.EventClaimed, dibs.EventDemoted, dibs.EventRevived)
}

// A dry run leaves nothing behind for the next request of its batch, which shares what it read.
func TestDryRunInABatch(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Reserve("slug", "x", coretest.Token3), release(coretest.Token3))
	set := mustPolicies(t, nil)
	dry, refused := set.Apply(dibs.ApplyRequest{DryRun: true, Commands: []dibs.Command{coretest.Reserve("slug", "x", coretest.Token1)}})
	if refused != nil {
		t.Fatal(refused)
	}
	requests := []*rules.Request{dry, mustApply(t, set, coretest.Reserve("slug", "x", coretest.Token2))}
	commit(f, requests...)
	for _, r := range requests {
		if _, refused := r.Result(); refused != nil {
			t.Error(refused)
		}
	}
}

// A decision that does not count a spent token, because its time is over, rests on that.
func TestWindowsOfSpentTokens(t *testing.T) {
	t.Parallel()
	policies := map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}}
	for what, c := range map[string]struct {
		last    dibs.Command
		command dibs.Command
	}{
		"a claim": {release(coretest.Token2), coretest.Claim("slug", "x", coretest.User1)},
		"the next candidate": {
			dibs.Confirm{ID: dibs.NameID("slug", "x"), Token: coretest.Token2, Entity: coretest.User1},
			dibs.ReserveFirst{Namespace: "slug", Values: []string{"x", "y"}, Token: coretest.Token1},
		},
	} {
		f := coretest.NewFixture(t, policies)
		f.Must(coretest.Claim("slug", "x", coretest.User3), coretest.Decommission("slug", "x", coretest.User3)) // never purged
		f.Must(coretest.Reserve("slug", "x", coretest.Token1), release(coretest.Token1))
		over := dibs.InstantOf(f.Clock.Now().Add(time.Hour))
		f.Clock.Advance(time.Minute)
		f.Must(coretest.Reserve("slug", "x", coretest.Token2), c.last)
		f.Clock.Advance(time.Hour - time.Second)
		if group, _ := groupOf(f, policies, c.command); group.Window.From != over {
			t.Errorf("%s: the window is %+v, want it to begin at %s", what, group.Window, over)
		}
	}
}

// A purge is right from the end of the name's time on.
func TestWindowOfAPurge(t *testing.T) {
	t.Parallel()
	policies := map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}}
	f := coretest.NewFixture(t, policies)
	hold := f.One(coretest.Reserve("slug", "x", coretest.Token1))
	f.Must(release(coretest.Token1))
	due := dibs.InstantOf(f.Clock.Now().Add(time.Hour))
	f.Clock.Advance(2 * time.Hour)
	sweep := mustPolicies(t, policies).Sweep(dibs.Ref{Kind: dibs.KindName, ID: hold.ID}).Request
	b, _ := decide(f, sweep)
	if groups, _, _ := b.Groups([]*rules.Request{sweep}); len(groups) != 1 || groups[0].Window.From != due {
		t.Errorf("%+v; want a window from %s", groups, due)
	}
}

// A list rests on what each of its commands rests on: ends that have come, and changes of other
// requests in the batch.
func TestListsRestOnTheirCommands(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Reserve("slug", "over", coretest.Token1))
	f.Clock.Advance(aHold)
	set := mustPolicies(t, nil)
	list := mustApply(t, set, coretest.Claim("slug", "a", coretest.User1), coretest.Claim("slug", "over", coretest.User2))
	b, _ := decide(f, list)
	groups, _, _ := b.Groups([]*rules.Request{list})
	if past := list.PastEnds(); len(past) != 1 || groups[0].Window.From != past[0].At {
		t.Errorf("it rests on %+v, in the window %+v", past, groups[0].Window)
	}
	if !hasRead(groups[0], documents(f, dibs.KindNamespace)[0].Ref()) {
		t.Errorf("the record of the namespace is not among %+v", groups[0].Reads)
	}
	requests := []*rules.Request{
		mustApply(t, set, coretest.Claim("slug", "x", coretest.User1)),
		mustApply(t, set, coretest.Claim("slug", "y", coretest.User2), coretest.Claim("slug", "x", coretest.User3)),
	}
	wantTogether(f, requests...)
}

func hasRead(group dibs.Group, ref dibs.Ref) bool {
	return slices.ContainsFunc(group.Reads, func(r dibs.Read) bool { return r.Ref == ref })
}

// wantTogether decides requests in one batch, and checks that they are in one group.
func wantTogether(f *coretest.Fixture, requests ...*rules.Request) {
	f.T.Helper()
	b, _ := decide(f, requests...)
	_, members, alone := b.Groups(requests)
	if len(members) != 1 || len(members[0]) != len(requests) || len(alone) != 0 || requests[1].RestsOnLoadAlone() {
		f.T.Errorf("the groups are %v, alone are %v", members, alone)
	}
}

// A refusal that rests on a change of another request belongs to its group: that a name was taken, or
// that the entry of a blind name was deleted.
func TestRefusalsJoinTheirGroup(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, blind(keyA))
	set := mustPolicies(t, blind(keyA))
	wantTogether(f, mustApply(t, set, coretest.Claim("slug", "x", coretest.User1)), mustApply(t, set, coretest.Claim("slug", "x", coretest.User2)))
	hold := f.One(coretest.Reserve("email", "x@y", coretest.Token1))
	f.Clock.Advance(aHold)
	f.SweepAll()
	f.Clock.Advance(time.Hour) // its row is due to be purged
	wantTogether(f, set.Sweep(dibs.Ref{Kind: dibs.KindName, ID: hold.ID}).Request, mustApply(t, set, coretest.Decommission("email", "x@y", coretest.User1)))
}

// A list of replays changes nothing, and still rests on the change that it found.
func TestReplaysJoinTheirGroup(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	set := mustPolicies(t, nil)
	claim := coretest.Claim("slug", "x", coretest.User1)
	wantTogether(f, mustApply(t, set, claim), mustApply(t, set, claim, claim))
}

// A ReserveFirst that passes over a look-alike has read the name that it looks like.
func TestReserveFirstReadsWhatItPassesOver(t *testing.T) {
	t.Parallel()
	policies := coretest.NoLookAlikes(dibs.Policy{})
	f := coretest.NewFixture(t, policies)
	f.Must(coretest.Claim("slug", "paypal", coretest.User1))
	first := dibs.ReserveFirst{Namespace: "slug", Values: []string{"paypa1", "other"}, Token: coretest.Token1}
	if group, _ := groupOf(f, policies, first); !hasRead(group, dibs.Ref{Kind: dibs.KindName, ID: dibs.NameID("slug", "paypal")}) {
		t.Errorf("it has read %+v", group.Reads)
	}
}

// Commit does not check the absence of a record that is not written, so a guess of it is not enough:
// that of a candidate of ReserveFirst, or of one that is passed over.
func TestAbsenceIsNotGuessed(t *testing.T) {
	t.Parallel()
	policies := coretest.NoLookAlikes(dibs.Policy{})
	f := coretest.NewFixture(t, policies)
	f.Must(coretest.Claim("slug", "paypal", coretest.User1))
	known := make(map[rules.Key]dibs.Record)
	for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindNamespace, dibs.KindSkeleton} {
		for _, r := range f.Records(kind) {
			known[rules.KeyOf(r.Ref())] = r
		}
	}
	set := mustPolicies(t, policies)
	for _, commands := range [][]dibs.Command{
		{dibs.ReserveFirst{Namespace: "slug", Values: []string{"new", "other"}}},
		{coretest.Reserve("slug", "new", coretest.Token1), coretest.Reserve("slug", "paypa1", coretest.Token1)},
	} {
		requests := []*rules.Request{mustApply(t, set, commands...)}
		var b rules.Batch
		b.Guess(requests, dibs.InstantOf(f.Clock.Now()), dibs.Window{}, func(key rules.Key) dibs.Record { return known[key] })
		b.Decide(requests)
		if b.Complete() {
			t.Errorf("%#v is decided on a guess", commands)
		}
	}
}

// A list may take a name that was forgotten.
func TestListTakesAForgottenName(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Claim("slug", "x", coretest.Alice))
	f.MustForget(dibs.ForgetRequest{Entity: coretest.Alice})
	f.Must(coretest.Claim("slug", "y", coretest.User1), coretest.Claim("slug", "x", coretest.User2))
	f.WantKinds("slug", "x", dibs.EventForgotten, dibs.EventClaimed)
}

// A Swap leaves no slot of a name that its entity had when it could have one name only.
func TestSwapAfterThePolicyChanged(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Claim("slug", "a", coretest.User1), coretest.Claim("slug", "b", coretest.User2))
	many := f.Reopened(map[string]dibs.Policy{"slug": {ManyPerEntity: true}})
	many.Must(dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "a", Entity: coretest.User1}, B: dibs.Named{Value: "b", Entity: coretest.User2}})
	many.WantActive(coretest.User1, "b")
	many.WantActive(coretest.User2, "a")
}

// Callers that are refused together are each told about their own field.
func TestRefusalsHaveTheirFields(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, nil)
	f.Must(coretest.Claim("slug", "x", coretest.User1))
	set := mustPolicies(t, nil)
	var requests []*rules.Request
	fields := []string{"first", "second"}
	for _, field := range fields {
		requests = append(requests, mustApply(t, set, dibs.Reserve{Namespace: "slug", Value: "x", Field: field}))
	}
	decide(f, requests...)
	for i, r := range requests {
		if _, refused := r.Result(); refused == nil || refused.Field != fields[i] {
			t.Errorf("%s: %+v", fields[i], refused)
		}
	}
	if e := f.Refused(dibs.ErrInvalidNamespace, dibs.Claim{Namespace: "Bad!", Value: "x", Entity: coretest.User1, Field: "slug"}); e.Field != "slug" {
		t.Errorf("the field is %q", e.Field)
	}
}

// The end of a hold that the next command records has the details of that hold.
func TestRecordedEndHasItsOwnDetails(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, coretest.FoldedSlugs())
	f.Must(dibs.Reserve{Namespace: "slug", Value: "Alice", CorrelationID: "first"})
	f.Clock.Advance(aHold)
	f.Must(dibs.Claim{Namespace: "slug", Value: "ALICE", Entity: coretest.User1, CorrelationID: "second"})
	for i, want := range []string{"reserved Alice first", "expired Alice first", "claimed ALICE second"} {
		if e := f.AllEvents()[i]; string(e.Kind)+" "+e.Value+" "+e.CorrelationID != want {
			t.Errorf("%s %s %s, want %s", e.Kind, e.Value, e.CorrelationID, want)
		}
	}
}
