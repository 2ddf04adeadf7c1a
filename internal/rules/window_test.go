package rules_test

import (
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
	id := func(namespace, value string) dibs.ID { return dibs.NameID(namespace, value) }
	extend := func(namespace, value string) dibs.Extend {
		return dibs.Extend{ID: id(namespace, value), Token: coretest.Token1, TTL: dibs.For(time.Minute + aHold)}
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
		{"a hold that is released", time.Minute, dibs.Release{ID: id("slug", "held"), Token: coretest.Token1}, 0, hold, 0},
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
