package routestore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/routestore"
)

func (m *moody) Snapshot(ctx context.Context) (snapshot.View, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	return snapshot.Take(ctx, m.Store)
}

// moveTo opens a registry with routes, to which scopes move.
func moveTo(routes []routestore.Route) (*routestore.Store, error) {
	return routestore.Open(context.Background(), routestore.Config{Routes: routes, Move: true})
}

// live makes names of two scopes, with aliases, a hold and a name that was given up.
func live(t *testing.T, registry *dibs.Registry) (hold dibs.Hold) {
	t.Helper()
	ctx := t.Context()
	check := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, scope := range []string{"acme", "globex"} {
		for i := range 150 { // more than a page
			entity, value := dibs.Entity{Type: "user", ID: fmt.Sprint(i)}, fmt.Sprintf("name-%d", i)
			check(registry.Claim(ctx, dibs.Claim{Namespace: scope + ".slug", Value: value, Entity: entity}))
			if i%10 == 0 {
				check(registry.Rename(ctx, dibs.Rename{Namespace: scope + ".slug", Entity: entity, Value: value + "-new"}))
			}
			if i%25 == 1 {
				check(registry.Delete(ctx, dibs.Delete{Scope: scope, Entity: entity}))
			}
		}
	}
	hold, err := registry.Reserve(ctx, dibs.Reserve{Namespace: "acme.slug", Value: "held", TTL: dibs.For(10 * time.Hour)})
	check(hold, err)
	return hold
}

// A scope moves to another part with everything that belongs to it, and the others stay.
func TestMoveScope(t *testing.T) {
	bubble(t, func(t *testing.T, acme, rest *moody) {
		former := serve(t, only(rest))
		hold := live(t, former)
		before, err := former.History(t.Context(), "acme.slug", "name-10")
		if err != nil {
			t.Fatal(err)
		}
		refuses(t, twoParts(acme, rest), "dibs move-scopes") // not without being told

		var last []string // what the former process acknowledged
		var trying sync.WaitGroup
		trying.Go(func() {
			for i := 0; ; i++ {
				value := fmt.Sprintf("late-%d", i)
				if err := claim(former, "acme.slug", value); err != nil {
					if !errors.Is(err, dibs.ErrUnavailable) || !strings.Contains(err.Error(), "the stored routes are") {
						t.Errorf("with the former routes: %v", err)
					}
					return
				}
				last = append(last, value)
				time.Sleep(100 * time.Millisecond)
			}
		})
		time.Sleep(time.Second)
		store, err := moveTo(twoParts(acme, rest))
		if err != nil {
			t.Fatal(err)
		}
		trying.Wait()
		moved := registryOn(t, store)
		t.Cleanup(func() { _ = moved.Close() })
		for _, value := range last {
			if name, err := moved.Get(t.Context(), dibs.Lookup{Namespace: "acme.slug", Value: value}); err != nil || name.State != dibs.Active {
				t.Errorf("%s was acknowledged: %v, %v", value, name.State, err)
			}
		}
		if len(last) == 0 {
			t.Error("nothing was acknowledged before the move")
		}
		requireMoved(t, acme, rest)
		after, err := moved.History(t.Context(), "acme.slug", "name-10")
		if err != nil || len(after) != len(before) {
			t.Errorf("the history has %d events, %v; before %d", len(after), err, len(before))
		}
		if _, err := moved.Confirm(t.Context(), dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: dibs.Entity{Type: "user", ID: "x"}}); err != nil {
			t.Errorf("a hold from before the move: %v", err)
		}
		if err := claim(moved, "globex.slug", "another"); err != nil {
			t.Error(err)
		}
	})
}

// requireMoved checks that each part has its own scope only.
func requireMoved(t *testing.T, acme, rest *moody) {
	t.Helper()
	for _, part := range []struct {
		engine  *moody
		not     string
		expects int
	}{{acme, "globex", 166}, {rest, "acme", 165}} {
		view, err := snapshot.Take(t.Context(), part.engine)
		if err != nil {
			t.Fatal(err)
		}
		names := 0
		for _, table := range snapshot.Tables {
			for r, err := range view.Records(t.Context(), table) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Ref().Scope == part.not {
					t.Errorf("a %s of %s is in the wrong part", r.Ref().Kind, part.not)
				}
				if n, ok := r.(*dibs.NameRecord); ok && !strings.HasPrefix(n.Canonical, "late") {
					names++
				}
			}
		}
		if names != part.expects {
			t.Errorf("the part without %s has %d names, want %d", part.not, names, part.expects)
		}
	}
}

// A move that is killed before any of its commits is finished by the next run. Until then no process with
// other routes gets to a name.
func TestMoveInterrupted(t *testing.T) {
	bubble(t, func(t *testing.T, _, _ *moody) {
		for kill := int32(1); ; kill++ {
			engine := func() *moody { return &moody{Store: memstore.New(memstore.Config{})} }
			acme, rest := engine(), engine()
			live(t, serve(t, only(rest)))
			acme.commits.Store(kill)
			rest.commits.Store(kill)
			store, err := moveTo(twoParts(acme, rest))
			acme.commits.Store(0)
			rest.commits.Store(0)
			if err == nil {
				t.Cleanup(func() { _ = store.Close() })
				if kill < 5 {
					t.Errorf("a move has only %d commits", kill)
				}
				return
			}
			former := twoParts(acme, rest)
			former[0].Scopes = []string{"other"}
			for _, routes := range [][]routestore.Route{only(rest), former} {
				old, err := routestore.Open(t.Context(), routestore.Config{Routes: routes})
				if err != nil {
					continue
				}
				if found, err := acme.List(t.Context(), dibs.ListQuery{Kind: dibs.KindName, Limit: 1}); err != nil || len(found) > 0 {
					t.Errorf("killed at commit %d: the former routes are in use, although names have moved, %v", kill, err)
				}
				t.Cleanup(func() { _ = old.Close() })
			}
			store, err = moveTo(twoParts(acme, rest))
			if err != nil {
				t.Fatalf("killed at commit %d, and then: %v", kill, err)
			}
			t.Cleanup(func() { _ = store.Close() })
			requireMoved(t, acme, rest)
		}
	})
}
