package routestore_test

import (
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/routestore"
	"github.com/calldibs/dibs/storetest"
)

// tenant has all rights in one namespace.
type tenant string

func (t tenant) Allow(_ dibs.Command, namespace string) bool { return namespace == string(t) }

func (t tenant) RightsIn(string) dibs.Rights { return dibs.Operate }

// A hidden reservation looks like an absent one: it makes no list span two parts, and a part that
// does not answer does not reveal it.
func TestHiddenReservationIsInNoPart(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock(start)
	acme, globex := newMoody(clock), newMoody(clock)
	registry := registryOn(t, open(t,
		routestore.Route{Name: "acme", Scopes: []string{"acme"}, Store: acme},
		routestore.Route{Name: "rest", Scopes: []string{"*"}, Store: globex}))
	defer end(t, registry)
	hold, err := registry.Reserve(t.Context(), dibs.Reserve{Namespace: "globex.slug", Value: "held", Token: tokens[0]})
	if err != nil {
		t.Fatal(err)
	}
	theirs := registry.As(dibs.Principal{Name: "acme", Grants: tenant("acme.slug")})
	absent := dibs.NameID("globex.slug", "absent")
	compare := func(when string) {
		t.Helper()
		for name, list := range map[string]func(id dibs.ID) []dibs.Command{
			"alone": func(id dibs.ID) []dibs.Command { return []dibs.Command{dibs.Release{ID: id, Token: tokens[0]}} },
			"behind": func(id dibs.ID) []dibs.Command {
				return []dibs.Command{dibs.Reserve{Namespace: "acme.slug", Value: "a"}, dibs.Settle{ID: id, Verdict: dibs.Absent}}
			},
		} {
			_, hidden := theirs.Apply(t.Context(), list(hold.ID)...)
			_, none := theirs.Apply(t.Context(), list(absent)...)
			if hidden == nil || none == nil {
				t.Fatalf("%s, %s: succeeded: %v, %v", when, name, hidden, none)
			}
			if got, want := strings.ReplaceAll(hidden.Error(), hold.ID.String(), absent.String()), none.Error(); got != want {
				t.Errorf("%s, %s: %s, of none: %s", when, name, got, want)
			}
		}
		lookup := func(id dibs.ID) string {
			_, err := registry.Get(t.Context(), dibs.Lookup{ID: id, Visible: func(namespace string) bool { return namespace == "acme.slug" }})
			return strings.ReplaceAll(err.Error(), id.String(), "")
		}
		if hidden, none := lookup(hold.ID), lookup(absent); hidden != none {
			t.Errorf("%s: %s, of none: %s", when, hidden, none)
		}
	}
	compare("all parts answer")
	acme.fails.Store(true)
	compare("one part is gone")
	acme.fails.Store(false)
	if name, err := registry.Get(t.Context(), dibs.Lookup{ID: hold.ID}); err != nil || name.State != dibs.Held {
		t.Errorf("the hold is %v, %v", name.State, err)
	}
}
