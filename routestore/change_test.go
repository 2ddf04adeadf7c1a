package routestore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/routestore"
)

// bubble runs a test in a synctest bubble, with engines in memory.
func bubble(t *testing.T, test func(t *testing.T, acme, rest *moody)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := func() *moody { return &moody{Store: memstore.New(memstore.Config{})} }
		test(t, engine(), engine())
	})
}

func only(rest dibs.Store) []routestore.Route {
	return []routestore.Route{{Name: "rest", Scopes: []string{"*"}, Store: rest}}
}

// serve opens a registry with routes, which closes with the test.
func serve(t *testing.T, routes []routestore.Route) *dibs.Registry {
	t.Helper()
	registry := registryOn(t, open(t, routes...))
	t.Cleanup(func() { _ = registry.Close() })
	return registry
}

func claim(registry *dibs.Registry, namespace, value string) error {
	_, err := registry.Claim(context.Background(), dibs.Claim{Namespace: namespace, Value: value, Entity: dibs.Entity{Type: "user", ID: value}})
	return err
}

// refuses checks that Open refuses routes, and that the error says why.
func refuses(t *testing.T, routes []routestore.Route, says ...string) {
	t.Helper()
	store, err := routestore.Open(context.Background(), routestore.Config{Routes: routes})
	if err == nil {
		_ = store.Close()
		t.Fatalf("accepted: %v", routes)
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%v\nwant %q in it", err, text)
		}
	}
}

func took(fn func()) time.Duration {
	began := time.Now()
	fn()
	return time.Since(began)
}

// New and empty parts, and the stored routes, open at once.
func TestSameRoutes(t *testing.T) {
	bubble(t, func(t *testing.T, acme, rest *moody) {
		for range 3 {
			var registry *dibs.Registry
			if d := took(func() { registry = serve(t, twoParts(acme, rest)) }); d != 0 {
				t.Errorf("it took %s", d)
			}
			if err := claim(registry, "acme.slug", time.Now().Format("b05")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		// The order of routes and scopes does not matter.
		routes := twoParts(acme, rest)
		routes[0], routes[1] = routes[1], routes[0]
		if d := took(func() { serve(t, routes) }); d != 0 {
			t.Errorf("in another order it took %s", d)
		}
	})
}

// A process with the former routes stops before the new ones are used: the two never give out
// names of a moving scope at the same time.
func TestFormerRoutesStop(t *testing.T) {
	bubble(t, func(t *testing.T, acme, rest *moody) {
		former := serve(t, only(rest)) // as without routes
		if err := claim(former, "slug", "a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		var last time.Time // when the former process gave out a name
		stop := make(chan struct{})
		var trying sync.WaitGroup
		trying.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				err := claim(former, "slug", time.Now().Format("150405.000"))
				switch {
				case err == nil:
					last = time.Now()
				case !errors.Is(err, dibs.ErrUnavailable) || !strings.Contains(err.Error(), "the stored routes are"):
					t.Errorf("attempt %d: %v", i, err)
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
		var latter *dibs.Registry
		if d := took(func() { latter = serve(t, twoParts(acme, rest)) }); d < routestore.ChangeWait {
			t.Errorf("the new routes were used after %s", d)
		}
		opened := time.Now()
		time.Sleep(time.Minute)
		close(stop)
		trying.Wait()
		if gap := opened.Sub(last); gap < routestore.ChangeWait-routestore.CheckEvery {
			t.Errorf("the former process went on until %s before the new routes were used", gap)
		}
		if err := claim(latter, "acme.slug", "a"); err != nil {
			t.Error(err)
		}
		if _, err := former.Resolve(t.Context(), "slug", "a"); !errors.Is(err, dibs.ErrUnavailable) {
			t.Errorf("a read with the former routes: %v, want UNAVAILABLE", err)
		}
	})
}

// Routes must not give existing names to another part.
func TestNamesStay(t *testing.T) {
	bubble(t, func(t *testing.T, acme, rest *moody) {
		former := serve(t, only(rest))
		if err := claim(former, "acme.slug", "a"); err != nil {
			t.Fatal(err)
		}
		if d := took(func() {
			refuses(t, twoParts(acme, rest), "acme.slug", `the part "rest"`, `give the scope "acme" to "rest"`)
		}); d != 0 {
			t.Errorf("the refusal took %s", d)
		}
		if err := claim(former, "acme.slug", "b"); err != nil {
			t.Errorf("with the former routes: %v", err)
		}
		// If the scope stays, all others can move.
		routes := []routestore.Route{
			{Name: "below", Scopes: []string{"acme.*"}, Store: acme},
			{Name: "rest", Scopes: []string{"*", "acme"}, Store: rest},
		}
		latter := serve(t, routes)
		for namespace, engine := range map[string]*moody{"acme.slug": rest, "acme.eu.slug": acme, "slug": rest} {
			if err := claim(latter, namespace, "new"); err != nil {
				t.Fatal(err)
			}
			records, err := engine.List(t.Context(), dibs.ListQuery{Kind: dibs.KindName, Namespace: namespace, From: "new", Limit: 1})
			if err != nil || len(records) != 1 {
				t.Errorf("%s: %d names in the right part, %v", namespace, len(records), err)
			}
		}
	})
}

// A name that is claimed while the routes change is found, and the routes stay.
func TestClaimDuringAChange(t *testing.T) {
	bubble(t, func(t *testing.T, acme, rest *moody) {
		former := serve(t, only(rest))
		if err := claim(former, "slug", "a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(routestore.LeaseTime / 2)
		go func() {
			time.Sleep(time.Millisecond) // the new routes are stored, the former process does not know yet
			if err := claim(former, "acme.slug", "a"); err != nil {
				t.Errorf("within its lease: %v", err)
			}
		}()
		refuses(t, twoParts(acme, rest), "acme.slug")
		time.Sleep(time.Minute)
		if err := claim(former, "acme.slug", "b"); err != nil {
			t.Errorf("the former routes are not restored: %v", err)
		}
	})
}

// Several servers start with the same new routes at once, and all succeed.
func TestConcurrentChanges(t *testing.T) {
	for name, names := range map[string][]string{"empty": nil, "with names": {"a"}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, acme, rest *moody) {
				for _, value := range names {
					if err := claim(serve(t, only(rest)), "slug", value); err != nil {
						t.Fatal(err)
					}
				}
				registries := make([]*dibs.Registry, 4)
				var opening sync.WaitGroup
				began := time.Now()
				for i := range registries {
					opening.Go(func() {
						time.Sleep(time.Duration(i) * time.Second)
						store, err := routestore.Open(context.Background(), routestore.Config{Routes: twoParts(acme, rest)})
						if err != nil {
							t.Error(err)
							return
						}
						if d := time.Since(began); len(names) > 0 && d < routestore.ChangeWait {
							t.Errorf("server %d started after %s, with the former routes in use", i, d)
						}
						registries[i] = registryOn(t, store)
					})
				}
				opening.Wait()
				if d := time.Since(began); d > routestore.ChangeWait+4*time.Second {
					t.Errorf("it took %s until all had started", d)
				}
				for i, registry := range registries {
					if registry == nil {
						continue
					}
					if err := claim(registry, "acme.slug", string(rune('a'+i))); err != nil {
						t.Error(err)
					}
					defer end(t, registry)
				}
			})
		})
	}
}

// Open refuses wrong stores.
func TestWrongStores(t *testing.T) {
	bubble(t, func(t *testing.T, acme, rest *moody) {
		first := serve(t, twoParts(acme, rest))
		if err := errors.Join(claim(first, "acme.slug", "a"), claim(first, "slug", "a")); err != nil {
			t.Fatal(err)
		}
		fresh := func() *moody { return &moody{Store: memstore.New(memstore.Config{})} }
		everything := []string{"*"}
		refuses(t, twoParts(rest, acme), "swapped")
		refuses(t, twoParts(fresh(), rest), `the part "acme" has no routes`)
		refuses(t, twoParts(acme, fresh()), `the part "rest" has no routes`)
		refuses(t, only(rest), `the part "acme" is missing`)
		refuses(t, []routestore.Route{{Name: "default", Scopes: everything, Store: rest}}, `stored as the part "rest"`)
		refuses(t, []routestore.Route{{Name: "europe", Scopes: []string{"acme.*"}, Store: acme}, {Name: "rest", Scopes: everything, Store: rest}}, "renamed")
		refuses(t, []routestore.Route{{Name: "acme", Scopes: everything, Store: acme}, {Name: "rest", Scopes: []string{"x"}, Store: rest}}, "cannot move to \"acme\"")
		strange, staging := fresh(), fresh() // of another registry, with the same routes
		if err := claim(serve(t, twoParts(strange, staging)), "acme.slug", "a"); err != nil {
			t.Fatal(err)
		}
		refuses(t, twoParts(strange, rest), "two registries")
		refuses(t, twoParts(acme, staging), "two registries")
		both := fresh()
		refuses(t, twoParts(both, both), "given twice")
		if err := claim(first, "acme.slug", "b"); err != nil {
			t.Errorf("after the refused attempts: %v", err)
		}
	})
}

// A part without names can be removed in two steps.
func TestRemoveAPart(t *testing.T) {
	bubble(t, func(t *testing.T, acme, rest *moody) {
		if err := claim(serve(t, twoParts(acme, rest)), "slug", "a"); err != nil {
			t.Fatal(err)
		}
		refuses(t, only(rest), "open it once without scopes")
		routes := twoParts(acme, rest)
		routes[0].Scopes = nil
		if err := claim(serve(t, routes), "acme.slug", "a"); err != nil {
			t.Fatal(err)
		}
		if err := claim(serve(t, only(rest)), "acme.slug", "b"); err != nil {
			t.Fatal(err)
		}
	})
}

// With Keep the routes do not change.
func TestKeep(t *testing.T) {
	bubble(t, func(t *testing.T, acme, rest *moody) {
		keep := func(routes []routestore.Route) error {
			store, err := routestore.Open(t.Context(), routestore.Config{Routes: routes, Keep: true})
			if err == nil {
				_ = store.Close()
			}
			return err
		}
		if err := keep(twoParts(acme, rest)); err != nil {
			t.Errorf("new and empty: %v", err)
		}
		registry := serve(t, twoParts(acme, rest))
		if err := claim(registry, "slug", "a"); err != nil {
			t.Fatal(err)
		}
		other := twoParts(acme, rest)
		other[0].Scopes = []string{"globex"}
		if err := keep(other); err == nil || !strings.Contains(err.Error(), "start the servers with the new ones first") {
			t.Errorf("other routes: %v", err)
		}
		if err := keep(twoParts(acme, rest)); err != nil {
			t.Errorf("the same routes: %v", err)
		}
		if err := claim(registry, "acme.slug", "a"); err != nil {
			t.Error(err)
		}
	})
}

// An interrupted change is undone, or finished by the next one.
func TestInterruptedChange(t *testing.T) {
	bubble(t, func(t *testing.T, acme, rest *moody) {
		former := serve(t, only(rest))
		if err := claim(former, "slug", "a"); err != nil {
			t.Fatal(err)
		}
		cut := func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := routestore.Open(ctx, routestore.Config{Routes: twoParts(acme, rest)}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("cut off: %v", err)
			}
		}
		cut() // it restores the former routes
		time.Sleep(time.Minute)
		if err := claim(former, "acme.slug.x", "a"); err != nil {
			t.Fatal(err)
		}
		refuses(t, twoParts(acme, rest), "acme.slug.x")

		// A killed process cannot: one part has the new routes, and the change is incomplete.
		other := []routestore.Route{{Name: "globex", Scopes: []string{"globex"}, Store: acme}, only(rest)[0]}
		acme.commits.Store(2)
		rest.commits.Store(1)
		refuses(t, other, "it is gone")
		acme.commits.Store(0)
		rest.commits.Store(0)
		if records, err := acme.List(t.Context(), dibs.ListQuery{Kind: "routes", Limit: 1}); err != nil || len(records) != 1 {
			t.Fatalf("%d stored routes, %v", len(records), err)
		}
		serve(t, other)
		if err := claim(former, "slug", "b"); !errors.Is(err, dibs.ErrUnavailable) {
			t.Errorf("with the former routes: %v", err)
		}
	})
}

// If the engine does not answer, the lease expires: the routes may have changed meanwhile.
func TestLeaseExpires(t *testing.T) {
	bubble(t, func(t *testing.T, acme, rest *moody) {
		registry := serve(t, twoParts(acme, rest))
		acme.fails.Store(true)
		time.Sleep(time.Minute)
		if err := claim(registry, "acme.slug", "a"); !errors.Is(err, dibs.ErrUnavailable) {
			t.Errorf("%v, want UNAVAILABLE", err)
		}
		if err := claim(registry, "slug", "a"); err != nil {
			t.Errorf("the other part: %v", err)
		}
		acme.fails.Store(false)
		if err := claim(registry, "acme.slug", "a"); err != nil {
			t.Errorf("as soon as it answers again: %v", err)
		}
	})
}

// Names without a namespace record are found too.
func TestNamesWithoutNamespaceRecords(t *testing.T) {
	bubble(t, func(t *testing.T, acme, rest *moody) {
		for _, namespace := range []string{"a", "acme.slug"} {
			name := &dibs.NameRecord{
				ID: dibs.NameID(namespace, "a"), Rev: 1, Namespace: namespace, Value: "a", Canonical: "a",
				State: dibs.Free, Status: dibs.StatusReleased,
			}
			group := dibs.Group{Reads: []dibs.Read{{Ref: name.Ref()}}, Writes: []dibs.Write{{Record: name}}}
			if _, err := rest.Commit(t.Context(), []dibs.Group{group}); err != nil {
				t.Fatal(err)
			}
		}
		refuses(t, twoParts(acme, rest), "acme.slug")
	})
}

// A commit that hangs ends in time: a change of the routes waits for it.
func TestCommitHasADeadline(t *testing.T) {
	bubble(t, func(t *testing.T, acme, rest *moody) {
		store := open(t, twoParts(acme, rest)...)
		defer end(t, store)
		rest.hang()
		d := took(func() {
			if _, err := store.Parts()[1].Store.Commit(context.Background(), nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, want DeadlineExceeded", err)
			}
		})
		if d > routestore.LeaseTime+routestore.CommitTime {
			t.Errorf("it took %s", d)
		}
		rest.goOn()
	})
}

func route(name string, scopes ...string) routestore.Route {
	return routestore.Route{Name: name, Scopes: scopes, Store: memstore.New(memstore.Config{})}
}

// The most specific pattern wins, in any order of routes.
func TestPartOf(t *testing.T) {
	t.Parallel()
	store := open(t, route("rest", "*"), route("acme", "acme.*"), route("eu", "acme.eu"), route("de", "acme.eu.de.*", "globex"))
	defer end(t, store)
	for scope, want := range map[string]string{
		"":                "rest",
		"other":           "rest",
		"other.acme":      "rest",
		"acme":            "acme",
		"acme2":           "rest",
		"acme-eu":         "rest",
		"acme.us":         "acme",
		"acme.us.ny":      "acme",
		"acme.eu":         "eu",
		"acme.eu.fr":      "acme",
		"acme.eu.de":      "de",
		"acme.eu.de.muc":  "de",
		"acme.eu.de2":     "acme",
		"globex":          "de",
		"globex.anything": "rest",
	} {
		if got := store.Parts()[store.PartOf(scope)].Name; got != want {
			t.Errorf("%q is in %s, want %s", scope, got, want)
		}
	}
}

func TestBadRoutes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for says, routes := range map[string][]routestore.Route{
		"no route has the scope":                  {route("a", "acme")},
		"two routes have the name":                {route("a", "*"), route("a", "acme")},
		`"*" occurs twice`:                        {route("a", "*"), route("b", "*")},
		`"acme.*" occurs twice`:                   {route("a", "*"), route("b", "acme.*"), route("c", "acme.*")},
		`invalid part name "Eu"`:                  {route("Eu", "*")},
		`invalid part name ""`:                    {route("", "*")},
		`invalid scope pattern "Acme"`:            {route("a", "*", "Acme")},
		`invalid scope pattern ""`:                {route("a", "*", "")},
		`invalid scope pattern "*.acme"`:          {route("a", "*", "*.acme")},
		`invalid scope pattern "acme.*.eu"`:       {route("a", "*", "acme.*.eu")},
		`invalid scope pattern "acme*"`:           {route("a", "*", "acme*")},
		`invalid scope pattern "a.b.c.d.e.f.g.h"`: {route("a", "*", "a.b.c.d.e.f.g.h")},
		`invalid scope pattern "` + long + `.*"`:  {route("a", "*", long+".*")},
		`the route "b" has no Store`:              {route("a", "*"), {Name: "b"}},
		`no route has the scope "*"`:              nil,
	} {
		_, err := routestore.Open(context.Background(), routestore.Config{Routes: routes})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q in it", err, says)
		}
	}
}
