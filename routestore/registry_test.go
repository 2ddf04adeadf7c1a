package routestore_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/routestore"
	"github.com/calldibs/dibs/storetest"
)

// Commands that would span two parts are refused, and change nothing.
func TestSpanningIsRefused(t *testing.T) {
	t.Parallel()
	registry, _ := threeParts(t, storetest.NewClock(start))
	defer end(t, registry)
	hold, err := registry.Reserve(t.Context(), dibs.Reserve{Namespace: "globex.eu.slug", Value: "held", Token: tokens[0]})
	if err != nil {
		t.Fatal(err)
	}
	before := allEvents(t, registry, "")
	acme, plain := dibs.Reserve{Namespace: "acme.slug", Value: "a"}, dibs.Reserve{Namespace: "slug", Value: "a"}
	for name, c := range map[string]struct {
		commands []dibs.Command
		says     []string
	}{
		"a list":          {[]dibs.Command{plain, acme}, []string{"slug and acme.slug", `"rest" and "acme"`, "send two requests"}},
		"one command":     {[]dibs.Command{dibs.ReserveAll{Reservations: []dibs.Reserve{acme, plain}}}, []string{`"acme" and "rest"`}},
		"a reservation":   {[]dibs.Command{acme, dibs.Release{ID: hold.ID, Token: tokens[0]}}, []string{"acme.slug and " + hold.ID.String(), `"globex"`}},
		"an entity":       {[]dibs.Command{acme, dibs.Archive{Scope: "globex.us", Entity: entities[0]}}, []string{"user/1 of scope globex.us"}},
		"behind nonsense": {[]dibs.Command{dibs.Claim{Namespace: "!"}, acme, plain}, []string{"number 3"}},
	} {
		for _, apply := range []func(context.Context, ...dibs.Command) ([]dibs.Result, error){registry.Apply, registry.DryRun} {
			_, err := apply(t.Context(), c.commands...)
			if !errors.Is(err, dibs.ErrInvalidNamespace) {
				t.Fatalf("%s: %v, want INVALID_NAMESPACE", name, err)
			}
			for _, text := range c.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%s: %v\nwant %q in it", name, err, text)
				}
			}
		}
	}
	if after := allEvents(t, registry, ""); len(after) != len(before) {
		t.Errorf("%d events, there were %d before", len(after), len(before))
	}
	conflicts, err := registry.Conflicts(t.Context(), dibs.ConflictsQuery{})
	if err != nil || len(conflicts) == 0 || conflicts[0].Reason != "invalid_namespace" {
		t.Errorf("the refusals were counted as %+v, %v", conflicts, err)
	}
	// One part is fine, also by several scopes.
	if _, err := registry.Apply(t.Context(), dibs.Claim{Namespace: "globex.us.slug", Value: "a", Entity: entities[0]}, dibs.Release{ID: hold.ID, Token: tokens[0]}); err != nil {
		t.Error(err)
	}
}

// moody is an engine that can hang or fail. Its Close does nothing.
type moody struct {
	dibs.Store
	hangs atomic.Pointer[chan struct{}] // nil: it works
	fails atomic.Bool
	calls atomic.Int32
	// commits is one more than the number of commits that still succeed; 0: any number.
	commits atomic.Int32
}

func newMoody(clock *storetest.Clock) *moody {
	return &moody{Store: memstore.New(memstore.Config{Now: clock.Now})}
}

func (m *moody) hang() { c := make(chan struct{}); m.hangs.Store(&c) }

func (m *moody) goOn() { close(*m.hangs.Swap(nil)) }

func (m *moody) enter(ctx context.Context) error {
	m.calls.Add(1)
	if c := m.hangs.Load(); c != nil {
		select {
		case <-*c:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if m.fails.Load() {
		return dibs.Unavailable(errors.New("it is gone"))
	}
	return nil
}

func (m *moody) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	if err := m.enter(ctx); err != nil {
		return dibs.LoadResult{}, err
	}
	return m.Store.Load(ctx, refs)
}

func (m *moody) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	if left := m.commits.Load(); left == 1 {
		return nil, dibs.Unavailable(errors.New("it is gone"))
	} else if left > 1 {
		m.commits.Add(-1)
	}
	return m.Store.Commit(ctx, groups)
}

func (m *moody) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	return m.Store.Due(ctx, limit)
}

func (m *moody) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	return m.Store.Events(ctx, query)
}

func (m *moody) Latest(ctx context.Context) (dibs.Cursor, error) {
	if err := m.enter(ctx); err != nil {
		return "", err
	}
	return m.Store.Latest(ctx)
}

func (m *moody) Close() error { return nil }

func twoParts(acme, rest dibs.Store) []routestore.Route {
	return []routestore.Route{
		{Name: "acme", Scopes: []string{"acme.*"}, Store: acme},
		{Name: "rest", Scopes: []string{routestore.Everything}, Store: rest},
	}
}

// A part that hangs does not delay commands for another.
func TestOnePartHangs(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock(start)
	acme, rest := newMoody(clock), newMoody(clock)
	registry := registryOn(t, open(t, twoParts(acme, rest)...))
	other := registryOn(t, open(t, twoParts(acme, rest)...)) // which does not know the reservation
	defer end(t, other)
	defer end(t, registry)
	held, err := registry.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "held", Token: tokens[0]})
	if err != nil {
		t.Fatal(err)
	}
	acme.hang()
	stuck := make(chan error, 1)
	go func() {
		_, err := registry.Claim(context.Background(), dibs.Claim{Namespace: "acme.slug", Value: "a", Entity: entities[0]})
		stuck <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, work := range []func() error{
		func() error {
			_, err := registry.Claim(ctx, dibs.Claim{Namespace: "slug", Value: "a", Entity: entities[0]})
			return err
		},
		func() error { _, err := registry.Resolve(ctx, "slug", "a"); return err },
		func() error { _, err := other.Get(ctx, dibs.Lookup{ID: held.ID}); return err },
		func() error {
			_, err := other.Confirm(ctx, dibs.Confirm{ID: held.ID, Token: tokens[0], Entity: entities[1]})
			return err
		},
		func() error { _, err := registry.List(ctx, dibs.NamesQuery{Namespace: "slug"}); return err },
	} {
		if err := work(); err != nil {
			t.Error(err)
		}
	}
	select {
	case err := <-stuck:
		t.Errorf("a command for the part that hangs: %v", err)
	default:
	}
	acme.goOn()
	if err := <-stuck; err != nil {
		t.Error(err)
	}
}

// A part that is gone affects only what needs it.
func TestOnePartIsGone(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock(start)
	acme, rest := newMoody(clock), newMoody(clock)
	store := open(t, twoParts(acme, rest)...)
	registry := registryOn(t, store)
	defer end(t, registry)
	held, err := registry.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "held", Token: tokens[0]})
	if err != nil {
		t.Fatal(err)
	}
	acme.fails.Store(true)
	unavailable := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, dibs.ErrUnavailable) {
			t.Errorf("%s: %v, want UNAVAILABLE", what, err)
		}
	}
	_, err = registry.Get(t.Context(), dibs.Lookup{ID: dibs.NameID("slug", "never")})
	unavailable("an unknown reservation", err)
	_, err = registry.Events(t.Context(), dibs.FeedQuery{})
	unavailable("the feed", err)
	if page, err := registry.Events(t.Context(), dibs.FeedQuery{Namespace: "slug"}); err != nil || len(page.Events) != 1 {
		t.Errorf("the feed of a namespace in another part: %v, %v", page.Events, err)
	}
	_, err = registry.Reserve(t.Context(), dibs.Reserve{Namespace: "acme.slug", Value: "a"})
	unavailable("a name of the part", err)
	if _, err := registry.Extend(t.Context(), dibs.Extend{ID: held.ID, Token: tokens[0], TTL: dibs.For(10 * time.Minute)}); err != nil {
		t.Error(err)
	}
	if err := store.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	// Both parts are swept, in any order; one of them fails.
	clock.Advance(time.Hour)
	report, err := registry.Sweep(t.Context(), 100)
	unavailable("sweeping", err)
	if report.Changed != 1 {
		t.Errorf("%+v, want the hold of the other part swept", report)
	}
	rest.fails.Store(true)
	if err := store.Ping(t.Context()); err == nil {
		t.Error("no part answers, and Ping succeeds")
	}
}

// The process that made a reservation knows its part; others look it up once.
func TestReservationsAreRemembered(t *testing.T) {
	bubble(t, func(t *testing.T, acme, rest *moody) {
		registry, other := serve(t, twoParts(acme, rest)), serve(t, twoParts(acme, rest))
		for namespace, stranger := range map[string]*moody{"slug": acme, "acme.slug": rest} {
			hold, err := registry.Reserve(t.Context(), dibs.Reserve{Namespace: namespace, Value: "a", Token: tokens[0]})
			if err != nil {
				t.Fatal(err)
			}
			asked := stranger.calls.Load()
			if _, err := registry.Confirm(t.Context(), dibs.Confirm{ID: hold.ID, Token: tokens[0], Entity: entities[0]}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if stranger.calls.Load() != asked {
				t.Errorf("%s: the other part was asked", namespace)
			}
			for range 3 {
				if _, err := other.Get(t.Context(), dibs.Lookup{ID: hold.ID}); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			if n := stranger.calls.Load() - asked; n > 1 {
				t.Errorf("%s: the other part was asked %d times", namespace, n)
			}
		}
	})
}

// Forgotten names are listed, although their values are hidden.
func TestForgottenNamesAreListed(t *testing.T) {
	t.Parallel()
	store, err := routestore.Open(t.Context(), routestore.Config{Routes: []routestore.Route{
		{Name: "acme", Scopes: []string{"acme"}, Store: memstore.New(memstore.Config{})},
		{Name: "rest", Scopes: []string{routestore.Everything}, Store: memstore.New(memstore.Config{})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := core.Open(store, dibs.Config{Default: dibs.Policy{Quarantine: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	defer end(t, registry)
	operator := registry.As(dibs.Principal{Rights: dibs.Operate})
	for _, namespace := range []string{"slug", "acme.slug"} {
		scope := strings.TrimSuffix(strings.TrimSuffix(namespace, "slug"), ".")
		for i := range 6 {
			who := dibs.Entity{Type: "user", ID: strconv.Itoa(i)}
			if _, err := registry.Claim(t.Context(), dibs.Claim{Namespace: namespace, Value: "n" + who.ID, Entity: who}); err != nil {
				t.Fatal(err)
			}
			if i%3 != 0 {
				if _, err := operator.Forget(t.Context(), dibs.ForgetRequest{Scope: scope, Entity: who}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for limit := 1; limit <= 13; limit++ {
		seen := make(map[dibs.ID]bool)
		query := dibs.NamesQuery{Limit: limit}
		for range 13 {
			page, err := registry.List(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range page.Names {
				if seen[n.ID] {
					t.Fatalf("in pages of %d, %s is listed twice", limit, n.ID)
				}
				seen[n.ID] = true
			}
			if query.Cursor = page.Next; query.Cursor == "" {
				break
			}
		}
		if len(seen) != 12 || query.Cursor != "" {
			t.Errorf("in pages of %d there are %d names, and the cursor %q", limit, len(seen), query.Cursor)
		}
	}
}

// scrubbed counts the calls of Scrub.
type scrubbed struct {
	dibs.Store
	times atomic.Int32
}

func (s *scrubbed) Scrub(context.Context) error {
	s.times.Add(1)
	return nil
}

// An engine that can scrub its files can do so behind one or several routes, with and without an
// observer.
func TestScrubBehindRoutes(t *testing.T) {
	t.Parallel()
	begin := func(ctx context.Context, _ dibs.Work) (context.Context, func(error)) { return ctx, func(error) {} }
	for _, observer := range []dibs.Observer{{}, {Begin: begin}} {
		for _, scopes := range [][]string{{}, {"acme"}} {
			file := &scrubbed{Store: memstore.New(memstore.Config{})}
			routes := []routestore.Route{{Name: "rest", Scopes: []string{routestore.Everything}, Store: file}}
			if len(scopes) > 0 {
				routes = append(routes, routestore.Route{Name: "other", Scopes: scopes, Store: memstore.New(memstore.Config{})})
			}
			store, err := routestore.Open(t.Context(), routestore.Config{Routes: routes})
			if err != nil {
				t.Fatal(err)
			}
			registry, err := core.Open(store, dibs.Config{Observer: observer})
			if err != nil {
				t.Fatal(err)
			}
			defer end(t, registry)
			operator := registry.As(dibs.Principal{Rights: dibs.Operate})
			if _, err := operator.Forget(t.Context(), dibs.ForgetRequest{Entity: entities[0], Scrub: true}); err != nil || file.times.Load() != 1 {
				t.Errorf("%d parts: %v, scrubbed %d times", len(routes), err, file.times.Load())
			}
			for _, scope := range scopes {
				if _, err := operator.Forget(t.Context(), dibs.ForgetRequest{Scope: scope, Entity: entities[0], Scrub: true}); !errors.Is(err, dibs.ErrUnsupported) {
					t.Errorf("an engine that cannot scrub: %v", err)
				}
			}
		}
	}
}

// silent is an engine that takes long to fail.
type silent struct {
	dibs.Store
	gone atomic.Bool
}

const silence = 3 * time.Second

func (s *silent) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	if !s.gone.Load() {
		return s.Store.Load(ctx, refs)
	}
	select {
	case <-time.After(silence):
		return dibs.LoadResult{}, dibs.Unavailable(errors.New("no answer"))
	case <-ctx.Done():
		return dibs.LoadResult{}, ctx.Err()
	}
}

// Calls that find an expired lease, and the engine gone, fail together and not one after the
// other.
func TestCallsFailTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := &silent{Store: memstore.New(memstore.Config{})}
		store := open(t, routestore.Route{Name: "rest", Scopes: []string{routestore.Everything}, Store: engine})
		defer end(t, store)
		engine.gone.Store(true)
		time.Sleep(2 * routestore.LeaseTime)
		began := time.Now()
		var waiting sync.WaitGroup
		for range 20 {
			waiting.Go(func() {
				if _, err := store.Load(context.Background(), nil); !errors.Is(err, dibs.ErrUnavailable) {
					t.Errorf("%v, want UNAVAILABLE", err)
				}
			})
		}
		// A call that gives up does not affect the others.
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if _, err := store.Load(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the call that gave up: %v", err)
		}
		waiting.Wait()
		if took := time.Since(began); took > 2*silence {
			t.Errorf("the last call failed after %v", took)
		}
		engine.gone.Store(false)
		if _, err := store.Load(context.Background(), nil); err != nil {
			t.Errorf("after the engine is back: %v", err)
		}
	})
}
