package dibscache_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibscache"
	"github.com/calldibs/dibs/memstore"
)

const maxStale = 2 * time.Second

// engine counts questions, and its feed can be cut.
type engine struct {
	dibs.Store
	loads atomic.Int64
	cut   atomic.Bool
	lost  atomic.Bool                   // no cursor is good
	late  atomic.Pointer[chan struct{}] // the next Load hands over what it found when this is closed
}

func (e *engine) Load(ctx context.Context, refs []dibs.Ref) (dibs.Snapshots, error) {
	e.loads.Add(1)
	found, err := e.Store.Load(ctx, refs)
	if late := e.late.Swap(nil); late != nil {
		<-*late
	}
	return found, err
}

var errCut = dibs.Unavailable(errors.New("the feed is cut"))

func (e *engine) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	if e.cut.Load() {
		return nil, errCut
	}
	if e.lost.Load() && query.After != "" {
		return nil, dibs.ErrBadCursor
	}
	return e.Store.Events(ctx, query)
}

func (e *engine) Latest(ctx context.Context) (dibs.Cursor, error) {
	if e.cut.Load() {
		return "", errCut
	}
	return e.Store.Latest(ctx)
}

// world is a registry with a cache before it, in a bubble of its own.
type world struct {
	*testing.T
	engine   *engine
	registry *dibs.Registry
	cache    *dibscache.Cache
}

// inBubble runs a test in a bubble, where time passes only while everybody waits.
func inBubble(t *testing.T, cfg dibs.Config, test func(w *world)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, engine: &engine{Store: memstore.New(memstore.Config{})}}
		var err error
		if w.registry, err = core.Open(w.engine, cfg); err != nil {
			t.Fatal(err)
		}
		if w.cache, err = dibscache.New(w.registry, dibscache.Config{MaxStale: maxStale, Logger: slog.New(slog.DiscardHandler)}); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := errors.Join(w.cache.Close(), w.registry.Close()); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		test(w)
	})
}

func user(id string) dibs.Entity { return dibs.Entity{Type: "user", ID: id} }

func (w *world) do(command dibs.Command) {
	w.Helper()
	if _, err := w.registry.Apply(w.Context(), command); err != nil {
		w.Fatal(err)
	}
}

func (w *world) resolve(value string) dibs.Resolution {
	w.Helper()
	r, err := w.cache.Resolve(w.Context(), "slug", value)
	if err != nil {
		w.Fatal(err)
	}
	if r.Age > maxStale {
		w.Fatalf("an answer is %v old, %v is allowed", r.Age, maxStale)
	}
	return r
}

// asks runs fn and reports how often it went to the engine.
func (w *world) asks(fn func()) int64 {
	before := w.engine.loads.Load()
	fn()
	return w.engine.loads.Load() - before
}

// settle gives the cache time to take in what has happened, much less than MaxStale.
func (w *world) settle() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

func TestAnswersComeFromMemory(t *testing.T) {
	inBubble(t, dibs.Config{}, func(w *world) {
		w.do(dibs.Claim{Namespace: "slug", Value: "ann", Entity: user("1")})
		w.settle()
		if n := w.asks(func() { w.resolve("ann") }); n == 0 {
			w.Error("the first time it did not ask")
		}
		// For as long as the feed is followed, which is much longer than MaxStale.
		for range 50 {
			if n := w.asks(func() {
				if r := w.resolve("ann"); r.Outcome != dibs.ResolveActive || r.Entity != user("1") || r.Status != 200 {
					w.Errorf("it leads to %+v", r)
				}
			}); n != 0 {
				w.Fatalf("it asked %d times", n)
			}
			time.Sleep(maxStale / 3)
		}
		if s := w.cache.Stats(); s.Hits != 50 || s.Misses != 1 || s.Bytes == 0 || s.Lag > maxStale/2 {
			w.Errorf("its figures are %+v", s)
		}
	})
}

// Every change of a name or its entity shows, though some of them tell of other names.
func TestChangesShow(t *testing.T) {
	inBubble(t, dibs.Config{Default: dibs.Policy{Quarantine: time.Hour}}, func(w *world) {
		ann, bob := user("ann"), user("bob")
		w.do(dibs.Claim{Namespace: "slug", Value: "first", Entity: ann})
		w.do(dibs.Claim{Namespace: "slug", Value: "other", Entity: bob})
		w.do(dibs.Rename{Namespace: "slug", Entity: ann, Value: "second"})
		steps := []struct {
			name    string
			command dibs.Command
			value   string
			outcome dibs.ResolveOutcome
			to      string
			entity  dibs.Entity
			late    bool // who was nowhere was nobody's: only time shows where it is now
		}{
			{"nothing", nil, "first", dibs.ResolveMoved, "second", ann, false},
			{"rename, seen from an older name", dibs.Rename{Namespace: "slug", Entity: ann, Value: "third"}, "first", dibs.ResolveMoved, "third", ann, false},
			{"archive", dibs.Archive{Entity: ann}, "first", dibs.ResolveNotFound, "", dibs.Entity{}, false},
			{"restore", dibs.Restore{Entity: ann}, "first", dibs.ResolveMoved, "third", ann, true},
			{"swap", dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "third", Entity: ann}, B: dibs.Named{Value: "other", Entity: bob}}, "third", dibs.ResolveActive, "", bob, false},
			{"and from the older name", nil, "first", dibs.ResolveMoved, "other", ann, false},
			{"decommission", dibs.Decommission{Namespace: "slug", Value: "other", Entity: ann}, "first", dibs.ResolveGone, "", dibs.Entity{}, false},
			{"transfer", dibs.Transfer{Namespace: "slug", Value: "third", From: bob, To: ann}, "third", dibs.ResolveActive, "", ann, false},
			{"delete", dibs.Delete{Entity: ann}, "third", dibs.ResolveGone, "", dibs.Entity{}, false},
		}
		for _, step := range steps {
			for _, value := range []string{"first", "second", "third", "other"} {
				w.resolve(value) // so that it is remembered
			}
			if step.command != nil {
				w.do(step.command)
			}
			w.settle()
			if step.late {
				time.Sleep(maxStale)
			}
			r := w.resolve(step.value)
			to := ""
			if r.To != nil {
				to = r.To.Canonical
			}
			if r.Outcome != step.outcome || to != step.to || r.Entity != step.entity {
				w.Errorf("%s: %s leads to %s %s %v", step.name, step.value, r.Outcome, to, r.Entity)
			}
		}
	})
}

// With the feed cut an answer is given until it is too old, and not a moment longer.
func TestFeedCut(t *testing.T) {
	inBubble(t, dibs.Config{}, func(w *world) {
		w.do(dibs.Claim{Namespace: "slug", Value: "ann", Entity: user("1")})
		w.settle()
		w.resolve("ann")
		w.settle()
		w.engine.cut.Store(true)
		cut := time.Now()
		w.do(dibs.Transfer{Namespace: "slug", Value: "ann", From: user("1"), To: user("2")})
		old := 0
		for time.Since(cut) <= maxStale {
			if w.resolve("ann").Entity == user("1") {
				old++
			}
			time.Sleep(10 * time.Millisecond)
		}
		if old == 0 {
			w.Error("nothing came from memory: this test shows nothing")
		}
		for range 10 {
			time.Sleep(time.Millisecond)
			if r := w.resolve("ann"); r.Entity != user("2") {
				w.Errorf("%v after the change it leads to %v", time.Since(cut), r.Entity)
			}
		}
		// What is learned now is kept, for MaxStale at the most.
		w.do(dibs.Transfer{Namespace: "slug", Value: "ann", From: user("2"), To: user("3")})
		time.Sleep(maxStale + time.Millisecond)
		if r := w.resolve("ann"); r.Entity != user("3") {
			w.Errorf("with the feed still cut it leads to %v", r.Entity)
		}
		w.engine.cut.Store(false)
		time.Sleep(maxStale)
		w.do(dibs.Transfer{Namespace: "slug", Value: "ann", From: user("3"), To: user("4")})
		w.settle()
		if r := w.resolve("ann"); r.Entity != user("4") {
			w.Errorf("with the feed back it leads to %v", r.Entity)
		}
		time.Sleep(3 * maxStale)
		if n := w.asks(func() { w.resolve("ann") }); n != 0 {
			w.Errorf("with the feed back it asked %d times", n)
		}
	})
}

// Dates come without an event: an old name stops redirecting, and the cache must notice.
func TestDatesShow(t *testing.T) {
	retention := time.Minute
	inBubble(t, dibs.Config{Default: dibs.Policy{AliasRetention: retention}}, func(w *world) {
		w.do(dibs.Claim{Namespace: "slug", Value: "old", Entity: user("1")})
		w.do(dibs.Rename{Namespace: "slug", Entity: user("1"), Value: "new"})
		renamed := time.Now()
		for time.Since(renamed) <= retention {
			w.resolve("old")
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(maxStale + time.Millisecond)
		if r := w.resolve("old"); r.Outcome == dibs.ResolveMoved {
			w.Errorf("%v later it still leads to %s", time.Since(renamed), r.To.Canonical)
		}
	})
}

func TestPoliciesShow(t *testing.T) {
	inBubble(t, dibs.Config{}, func(w *world) {
		w.do(dibs.Claim{Namespace: "slug", Value: "old", Entity: user("1")})
		w.do(dibs.Rename{Namespace: "slug", Entity: user("1"), Value: "new"})
		w.settle()
		if r := w.resolve("old"); r.Status != 301 {
			w.Fatalf("the status is %d", r.Status)
		}
		if err := w.registry.SetPolicies(nil, dibs.Policy{RedirectStatus: 307}); err != nil {
			w.Fatal(err)
		}
		time.Sleep(maxStale)
		if r := w.resolve("old"); r.Status != 307 {
			w.Errorf("with another policy the status is %d", r.Status)
		}
	})
}

func TestCheck(t *testing.T) {
	inBubble(t, dibs.Config{}, func(w *world) {
		check := func(request dibs.CheckRequest) (free []bool) {
			w.Helper()
			request.Namespace = "slug"
			answers, err := w.cache.Check(w.Context(), request)
			if err != nil {
				w.Fatal(err)
			}
			for i, a := range answers {
				if a.Value != request.Values[i] {
					w.Errorf("the answer to %q is about %q", request.Values[i], a.Value)
				}
				free = append(free, a.Available)
			}
			return free
		}
		is := func(got []bool, want ...bool) {
			w.Helper()
			for i := range want {
				if len(got) != len(want) || got[i] != want[i] {
					w.Errorf("got %v, want %v", got, want)
					return
				}
			}
		}
		w.do(dibs.Claim{Namespace: "slug", Value: "taken", Entity: user("1")})
		w.settle()
		is(check(dibs.CheckRequest{Values: []string{"free", "taken"}}), true, false)
		if n := w.asks(func() { is(check(dibs.CheckRequest{Values: []string{"taken", "free"}}), false, true) }); n != 0 {
			w.Errorf("it asked %d times", n)
		}
		if n := w.asks(func() { is(check(dibs.CheckRequest{Values: []string{"taken", "new", "free"}}), false, true, true) }); n != 1 {
			w.Errorf("for one that is new it asked %d times", n)
		}
		w.do(dibs.Claim{Namespace: "slug", Value: "free", Entity: user("2")})
		w.settle()
		is(check(dibs.CheckRequest{Values: []string{"taken", "free"}}), false, false)

		hold, err := w.registry.Reserve(w.Context(), dibs.Reserve{Namespace: "slug", Value: "held", TTL: dibs.For(5 * time.Second)})
		if err != nil {
			w.Fatal(err)
		}
		is(check(dibs.CheckRequest{Values: []string{"held"}}), false)
		time.Sleep(time.Until(hold.ExpiresAt) + maxStale)
		is(check(dibs.CheckRequest{Values: []string{"held"}}), true)

		if n := w.asks(func() { check(dibs.CheckRequest{Values: []string{"taken"}, Suggest: 2}) }); n == 0 {
			w.Error("suggestions came from memory")
		}
		if n := w.asks(func() { check(dibs.CheckRequest{Values: []string{"taken"}, Entity: user("1")}) }); n == 0 {
			w.Error("what an entity may have came from memory")
		}
		if _, err := w.cache.Check(w.Context(), dibs.CheckRequest{Namespace: "!", Values: []string{"a"}}); !errors.Is(err, dibs.ErrInvalidNamespace) {
			w.Errorf("a namespace that is none: %v", err)
		}
	})
}

func TestErrorsAreNotRemembered(t *testing.T) {
	inBubble(t, dibs.Config{}, func(w *world) {
		for range 2 {
			if _, err := w.cache.Resolve(w.Context(), "not a namespace", "a"); !errors.Is(err, dibs.ErrInvalidNamespace) {
				w.Errorf("got %v", err)
			}
		}
		if s := w.cache.Stats(); s.Bytes != 0 {
			w.Errorf("%d bytes are taken", s.Bytes)
		}
	})
}

// Where no cursor is good any more, as after the registry was put back to an older copy,
// nobody knows what has happened, and nothing that was remembered counts.
func TestLostPlace(t *testing.T) {
	inBubble(t, dibs.Config{}, func(w *world) {
		w.do(dibs.Claim{Namespace: "slug", Value: "ann", Entity: user("1")})
		w.settle()
		w.resolve("ann")
		w.engine.lost.Store(true)
		w.do(dibs.Transfer{Namespace: "slug", Value: "ann", From: user("1"), To: user("2")})
		time.Sleep(maxStale)
		w.engine.lost.Store(false)
		if r := w.resolve("ann"); r.Entity != user("2") {
			w.Errorf("it leads to %v", r)
		}
		time.Sleep(maxStale)
		w.do(dibs.Transfer{Namespace: "slug", Value: "ann", From: user("2"), To: user("3")})
		w.settle()
		if r := w.resolve("ann"); r.Entity != user("3") {
			w.Errorf("later it leads to %v", r)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	if _, err := dibscache.New(nil, dibscache.Config{}); err == nil {
		t.Error("a cache that may keep nothing was made")
	}
}

// A name that is forgotten takes others along: who redirected to it leads nowhere, and the
// event does not say whose they were.
func TestForgettingShows(t *testing.T) {
	for name, request := range map[string]dibs.ForgetRequest{
		"the name":   {Namespace: "slug", Value: "second", Entity: user("1")},
		"the entity": {Entity: user("1")},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, dibs.Config{}, func(w *world) {
				w.do(dibs.Claim{Namespace: "slug", Value: "first", Entity: user("1")})
				w.do(dibs.Rename{Namespace: "slug", Value: "second", Entity: user("1")})
				w.settle()
				if r := w.resolve("first"); r.Outcome != dibs.ResolveMoved {
					w.Fatalf("it leads to %+v", r)
				}
				if _, err := w.registry.As(dibs.Principal{Rights: dibs.Operate}).Forget(w.Context(), request); err != nil {
					w.Fatal(err)
				}
				time.Sleep(2 * maxStale)
				if r := w.resolve("first"); r.Outcome == dibs.ResolveMoved {
					w.Errorf("it still leads to %s", r.To.Key())
				}
			})
		})
	}
}

// What happens between the loss of the feed and its new beginning is in no page of it.
func TestChangeWhileStartingOver(t *testing.T) {
	inBubble(t, dibs.Config{}, func(w *world) {
		w.do(dibs.Claim{Namespace: "slug", Value: "ann", Entity: user("1")})
		w.settle()
		w.engine.lost.Store(true)
		for lost := false; !lost; { // until the cache has noticed
			time.Sleep(time.Millisecond)
			synctest.Wait()
			lost = w.cache.Stats().Lag > maxStale
		}
		w.engine.lost.Store(false)
		w.resolve("ann")
		w.do(dibs.Transfer{Namespace: "slug", Value: "ann", From: user("1"), To: user("2")})
		time.Sleep(10 * maxStale)
		if r := w.resolve("ann"); r.Entity != user("2") {
			w.Errorf("it leads to %v, %v old", r.Entity, r.Age)
		}
	})
}

// What was told while the feed was cut may be purged by the time that it is back.
func TestPurgedWhileCut(t *testing.T) {
	inBubble(t, dibs.Config{Default: dibs.Policy{HoldHistory: 10 * time.Second}}, func(w *world) {
		w.do(dibs.Claim{Namespace: "slug", Value: "ann", Entity: user("1")})
		w.settle()
		w.resolve("ann")
		w.engine.cut.Store(true)
		time.Sleep(maxStale)
		if _, err := w.registry.As(dibs.Principal{Rights: dibs.Operate}).Forget(w.Context(), dibs.ForgetRequest{Namespace: "slug", Value: "ann", Entity: user("1")}); err != nil {
			w.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if _, err := w.registry.Sweep(w.Context(), 100); err != nil {
			w.Fatal(err)
		}
		w.engine.cut.Store(false)
		time.Sleep(2 * maxStale)
		if r := w.resolve("ann"); r.Outcome != dibs.ResolveNotFound {
			w.Errorf("it leads to %v, %v old", r.Entity, r.Age)
		}
	})
}
