//go:build unix

package torture

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/linear"
	"github.com/calldibs/dibs/memstore"
)

// mustFind checks that an audit found one thing, or nothing for an empty text.
func mustFind(t *testing.T, a *audit, want string) {
	t.Helper()
	if want == "" && len(a.found) == 0 || want != "" && len(a.found) > 0 && strings.Contains(a.found[0].What, want) {
		a.found = nil
		return
	}
	t.Fatalf("got %v, want %q", a.found, want)
}

// Each acknowledged change has an event of its own, also if its result was there before.
func TestChangesAreCounted(t *testing.T) {
	t.Parallel()
	owner := dibs.Entity{Type: "user", ID: "1"}
	change := linear.Change{Value: "name-1", State: dibs.Active, Epoch: 1, Entity: owner}
	archived := linear.EntityChange{Kind: dibs.EventArchived, Entity: owner, Version: 3}
	f := linear.Finished{Scope: "h1", Namespace: "h1.plain", Changes: []linear.Change{change, change}, OfEntities: []linear.EntityChange{archived}}
	events := func(active, archivings int) feed {
		return feed{
			chains:   map[dibs.ID]*chain{dibs.NameID("h1.plain", "name-1"): {states: map[string]int{stateOf(dibs.Active, 1, owner): active}}},
			entities: map[string]int{entityChange(dibs.EventArchived, "h1", owner, 3): archivings},
		}
	}
	a := &audit{}
	a.compareChanges(f, events(2, 1))
	mustFind(t, a, "")
	a.compareChanges(f, events(1, 1))
	mustFind(t, a, "acknowledged 2 times, has 1 events")
	f.Changes[1].Both = true
	a.compareChanges(f, events(1, 1))
	mustFind(t, a, "")
	a.compareChanges(f, events(0, 1))
	mustFind(t, a, "acknowledged 1 times, has 0 events")
	f.Changes[1].Both = false
	a.compareChanges(f, events(2, 0))
	mustFind(t, a, "was archived, version 3, has 0 events")
}

// A name that was right in an earlier round must stay so.
func TestEarlierRounds(t *testing.T) {
	t.Parallel()
	reg := coretest.MustOpen(t, memstore.New(memstore.Config{}), linear.Config())
	owner := dibs.Entity{Type: "user", ID: "1"}
	if _, err := reg.Claim(t.Context(), dibs.Claim{Namespace: "h1.plain", Value: "name-1", Entity: owner}); err != nil {
		t.Fatal(err)
	}
	a := &audit{t: &run{}, reader: reg}
	fed, err := a.readFeed()
	if err != nil {
		t.Fatal(err)
	}
	a.t.keepSome([]linear.Finished{{Scope: "h1", Namespace: "h1.plain", Values: []string{"name-1"}, Entities: []dibs.Entity{owner}}}, fed.chains)
	if names := a.compareEarlier(); names != 1 {
		t.Errorf("%d names were compared", names)
	}
	mustFind(t, a, "")
	if _, err := reg.Decommission(t.Context(), dibs.Decommission{Namespace: "h1.plain", Value: "name-1", Entity: owner}); err != nil {
		t.Fatal(err)
	}
	a.compareEarlier()
	mustFind(t, a, "event 2 of the history is not in the feed")
}

// On a store of the user's, the events of others do not count.
func TestEventsOfOthers(t *testing.T) {
	t.Parallel()
	a := &audit{t: &run{Config: Config{Store: "sqlite:own.db"}, scope: "torture-7-x"}}
	id := dibs.NameID("torture-7-x.h1.plain", "name-1")
	for _, c := range []struct {
		event dibs.Event
		want  bool
	}{
		{dibs.Event{ID: id, Namespace: "torture-7-x.h1.plain"}, true},
		{dibs.Event{ID: id, Namespace: "torture-7-xy.h1.plain"}, false},
		{dibs.Event{ID: id, Namespace: "slug"}, false},
		{dibs.Event{Scope: "torture-7-x.h1"}, true},
		{dibs.Event{Scope: "acme"}, false},
	} {
		if got := a.isOwn(c.event); got != c.want {
			t.Errorf("%+v: %v", c.event, got)
		}
	}
	a.t.Store = "sqlite"
	if !a.isOwn(dibs.Event{ID: id, Namespace: "slug"}) {
		t.Error("in a private store there are no others")
	}
}

// A server that has ended by itself is noticed, also if the next fault would have killed it.
func TestServerEndsByItself(t *testing.T) {
	t.Parallel()
	s := &server{number: 2, process: exec.Command("true"), ended: make(chan struct{})}
	if err := s.process.Run(); err != nil {
		t.Fatal(err)
	}
	close(s.ended)
	r := &run{}
	r.kill(s)
	if len(r.wrong) != 1 || !strings.Contains(r.wrong[0].What, "server 2 ended by itself: exit status 0") {
		t.Errorf("got %v", r.wrong)
	}
}

// The feed of a damaged copy may end early, or lack something, and nothing else.
func TestIsPart(t *testing.T) {
	t.Parallel()
	all := []string{"a", "b", "c", "d"}
	for _, c := range []struct {
		events []string
		want   bool
	}{{nil, true}, {all, true}, {[]string{"a", "c"}, true}, {[]string{"c", "a"}, false}, {[]string{"a", "e"}, false}, {[]string{"a", "a"}, false}} {
		if got := isPart(c.events, all); got != c.want {
			t.Errorf("%v: %v", c.events, got)
		}
	}
}

func TestDifference(t *testing.T) {
	t.Parallel()
	want := []string{"a", "b", "c"}
	for text, got := range map[string][]string{
		"event 3 is nothing, not c":                                 {"a", "b"},
		"event 2 is c, not b; it should be number 3":                {"a", "c"},
		"event 2 is a, not b; it has the event already as number 1": {"a", "a", "b", "c"},
		"event 2 is d, not b; no other one is like it":              {"a", "d", "c"},
		"event 4 is d, not nothing; no other one is like it":        {"a", "b", "c", "d"},
	} {
		if said := difference(got, want); said != text {
			t.Errorf("got %q, want %q", said, text)
		}
	}
}
