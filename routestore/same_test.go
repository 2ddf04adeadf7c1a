package routestore_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/routestore"
	"github.com/calldibs/dibs/storetest"
)

var (
	start      = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	scopes     = []string{"", "acme", "globex.eu", "globex.us"}
	values     = []string{"a", "b", "c"}
	entities   = []dibs.Entity{{Type: "user", ID: "1"}, {Type: "user", ID: "2"}}
	tokens     = []string{"token-1-of-the-test", "token-2-of-the-test"}
	policies   = map[string]dibs.Policy{"slug": {Quarantine: time.Hour, MaxHolds: 3}}
	ofEveryone = dibs.Config{Policies: policies, Suggestions: -1}
)

// threeParts routes the scopes above to three engines.
func threeParts(tb testing.TB, clock *storetest.Clock) (*dibs.Registry, []*memstore.Store) {
	tb.Helper()
	engines := make([]*memstore.Store, 3)
	for i := range engines {
		engines[i] = memstore.New(memstore.Config{Now: clock.Now})
	}
	return registryOn(tb, open(tb,
		routestore.Route{Name: "acme", Scopes: []string{"acme"}, Store: engines[0]},
		routestore.Route{Name: "rest", Scopes: []string{"*"}, Store: engines[1]},
		routestore.Route{Name: "globex", Scopes: []string{"globex.*"}, Store: engines[2]})), engines
}

func registryOn(tb testing.TB, store dibs.Store) *dibs.Registry {
	tb.Helper()
	registry, err := core.Open(store, ofEveryone)
	if err != nil {
		tb.Fatal(err)
	}
	return registry
}

// pick draws one of several.
func pick[T any](t *rapid.T, what string, from ...T) T {
	return rapid.SampledFrom(from).Draw(t, what)
}

func namespaceIn(scope string) string {
	if scope == "" {
		return "slug"
	}
	return scope + ".slug"
}

// drawCommand draws a command within a scope.
func drawCommand(t *rapid.T, scope string) dibs.Command {
	namespace := namespaceIn(scope)
	value, entity, token := pick(t, "value", values...), pick(t, "entity", entities...), pick(t, "token", tokens...)
	id := dibs.NameID(namespace, value)
	return pick[dibs.Command](t, "command",
		dibs.Reserve{Namespace: namespace, Value: value, Token: token},
		dibs.ReserveFirst{Namespace: namespace, Values: values, Token: token},
		dibs.Extend{ID: id, Token: token, TTL: dibs.For(time.Hour)},
		dibs.Confirm{ID: id, Token: token, Entity: entity, Replace: true},
		dibs.Confirm{ID: id, Token: token, Entity: entity},
		dibs.Release{ID: id, Token: token},
		dibs.Claim{Namespace: namespace, Value: value, Entity: entity},
		dibs.Rename{Namespace: namespace, Value: value, Entity: entity},
		dibs.Archive{Scope: scope, Entity: entity},
		dibs.Restore{Scope: scope, Entity: entity},
		dibs.Delete{Scope: scope, Entity: entity},
		dibs.Decommission{Namespace: namespace, Value: value, Entity: entity},
		dibs.Transfer{Namespace: namespace, Value: value, From: entities[0], To: entities[1]},
		dibs.Settle{ID: id, Verdict: dibs.Absent},
		dibs.Reserve{Namespace: "no such!", Value: value},
	)
}

// For commands within one scope, a routed registry behaves like one on a single engine.
func TestSameAsOneEngine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		clock := storetest.NewClock(start)
		routed, _ := threeParts(t, clock)
		defer end(t, routed)
		single := registryOn(t, memstore.New(memstore.Config{Now: clock.Now}))
		defer end(t, single)
		both := []*dibs.Registry{routed, single}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			scope := pick(rt, "scope", scopes...)
			commands := []dibs.Command{drawCommand(rt, scope)}
			if rapid.Bool().Draw(rt, "two") {
				commands = append(commands, drawCommand(rt, scope))
			}
			var answers [2]string
			for i, r := range both {
				results, err := r.Apply(context.Background(), commands...)
				answers[i] = fmt.Sprintf("%+v, %s", results, explain(err))
			}
			if answers[0] != answers[1] {
				rt.Fatalf("%+v:\n%s\nwant\n%s", commands, answers[0], answers[1])
			}
			if rapid.IntRange(0, 4).Draw(rt, "wait") == 0 {
				clock.Advance(pick(rt, "for", time.Minute, 10*time.Minute, 2*time.Hour))
			}
			if rapid.IntRange(0, 4).Draw(rt, "sweep") == 0 {
				for _, r := range both {
					if _, err := r.Sweep(context.Background(), 1000); err != nil {
						rt.Fatal(err)
					}
				}
			}
		}
		if got, want := seen(rt, routed), seen(rt, single); !reflect.DeepEqual(got, want) {
			rt.Fatalf("seen\n%+v\nwant\n%+v", got, want)
		}
	})
}

// explain returns the text of an error with all of its fields.
func explain(err error) string {
	e, ok := errors.AsType[*dibs.Error](err)
	if !ok {
		return fmt.Sprint(err)
	}
	text := fmt.Sprintf("%v %s %s %s", e, e.Namespace, e.Key, e.Until)
	for _, f := range e.Failures {
		text += fmt.Sprintf(" (%d: %s)", f.Index, explain(f.Err))
	}
	return text
}

// view is everything that can be read from a registry.
type view struct {
	Names     []dibs.Name
	Pages     []dibs.Name
	Stats     dibs.Stats
	Conflicts map[string]uint64
	Entities  []string
	Events    map[string][]dibs.Event // by name or entity
	Histories [][]dibs.Event
	ByID      []string
}

func seen(t *rapid.T, r *dibs.Registry) view {
	ctx := context.Background()
	var s view
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	list, err := r.List(ctx, dibs.NamesQuery{Limit: 1000})
	check(err)
	s.Names = list.Names
	for query := (dibs.NamesQuery{Limit: 2}); ; {
		page, err := r.List(ctx, query)
		check(err)
		s.Pages = append(s.Pages, page.Names...)
		if query.Cursor = page.Next; query.Cursor == "" {
			break
		}
	}
	s.Stats, err = r.Stats(ctx)
	check(err)
	// A command that is refused before it reaches an engine counts for the latest hour that was
	// seen, which differs between parts. So hours are not compared.
	buckets, err := r.Conflicts(ctx, dibs.ConflictsQuery{})
	check(err)
	s.Conflicts = make(map[string]uint64)
	for _, b := range buckets {
		s.Conflicts[b.Namespace+" "+b.Reason] += b.Count
	}
	s.Events = make(map[string][]dibs.Event)
	for _, e := range allEvents(t, r, "") {
		key := e.Scope + " " + e.Entity.String()
		if !e.ID.IsZero() {
			key = e.Key()
		}
		e.Cursor = ""
		s.Events[key] = append(s.Events[key], e)
	}
	for _, scope := range scopes {
		for _, entity := range entities {
			info, err := r.Entity(ctx, scope, entity)
			s.Entities = append(s.Entities, fmt.Sprintf("%+v %v", info, err))
		}
		for _, value := range values {
			history, err := r.History(ctx, namespaceIn(scope), value)
			check(err)
			for i := range history {
				history[i].Cursor = ""
			}
			s.Histories = append(s.Histories, history)
			name, err := r.Get(ctx, dibs.Lookup{ID: dibs.NameID(namespaceIn(scope), value)})
			s.ByID = append(s.ByID, fmt.Sprintf("%+v %v", name, err))
		}
	}
	return s
}

// fataler is a testing.TB or a rapid.T.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// allEvents reads the feed from a cursor, in small pages.
func allEvents(t fataler, r *dibs.Registry, after dibs.Cursor) []dibs.Event {
	t.Helper()
	var all []dibs.Event
	for {
		page, err := r.Events(context.Background(), dibs.FeedQuery{After: after, Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Events) == 0 {
			return slices.Clip(all)
		}
		if all = append(all, page.Events...); len(all) > 10_000 {
			t.Fatal("the feed does not end")
		}
		after = page.Next
	}
}
