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

// faultyStore counts loads, and its feed can fail.
type faultyStore struct {
	dibs.Store
	loadCount   atomic.Int64
	feedDown    atomic.Bool
	cursorsLost atomic.Bool                   // no cursor is valid
	delayed     atomic.Pointer[chan struct{}] // the next Load returns when this is closed
}

func (s *faultyStore) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	s.loadCount.Add(1)
	found, err := s.Store.Load(ctx, refs)
	if delayed := s.delayed.Swap(nil); delayed != nil {
		<-*delayed
	}
	return found, err
}

var errFeedDown = dibs.Unavailable(errors.New("the feed is down"))

func (s *faultyStore) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	if s.feedDown.Load() {
		return nil, errFeedDown
	}
	if s.cursorsLost.Load() && query.After != "" {
		return nil, dibs.ErrBadCursor
	}
	return s.Store.Events(ctx, query)
}

func (s *faultyStore) Latest(ctx context.Context) (dibs.Cursor, error) {
	if s.feedDown.Load() {
		return "", errFeedDown
	}
	return s.Store.Latest(ctx)
}

// fixture is a registry with a cache, in a synctest bubble.
type fixture struct {
	*testing.T
	store    *faultyStore
	registry *dibs.Registry
	cache    *dibscache.Cache
}

// run runs a test in a synctest bubble, where time passes only while all goroutines wait.
func run(t *testing.T, cfg dibs.Config, test func(f *fixture)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{T: t, store: &faultyStore{Store: memstore.New(memstore.Config{})}}
		var err error
		if f.registry, err = core.Open(f.store, cfg); err != nil {
			t.Fatal(err)
		}
		if f.cache, err = dibscache.New(f.registry, dibscache.Config{MaxStale: maxStale, Logger: slog.New(slog.DiscardHandler)}); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := errors.Join(f.cache.Close(), f.registry.Close()); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		test(f)
	})
}

func user(id string) dibs.Entity { return dibs.Entity{Type: "user", ID: id} }

func (f *fixture) do(command dibs.Command) {
	f.Helper()
	if _, err := f.registry.Apply(f.Context(), command); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) resolve(value string) dibs.Resolution {
	f.Helper()
	r, err := f.cache.Resolve(f.Context(), "slug", value)
	if err != nil {
		f.Fatal(err)
	}
	if r.Age > maxStale {
		f.Fatalf("an answer is %v old, the maximum is %v", r.Age, maxStale)
	}
	return r
}

// loads runs fn and returns how many loads of the store it caused.
func (f *fixture) loads(fn func()) int64 {
	before := f.store.loadCount.Load()
	fn()
	return f.store.loadCount.Load() - before
}

// catchUp gives the cache time to read the feed, much less than MaxStale.
func (f *fixture) catchUp() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

func TestAnswersFromMemory(t *testing.T) {
	run(t, dibs.Config{}, func(f *fixture) {
		f.do(dibs.Claim{Namespace: "slug", Value: "ann", Entity: user("1")})
		f.catchUp()
		if n := f.loads(func() { f.resolve("ann") }); n == 0 {
			f.Error("the first answer came from memory")
		}
		// The answer lasts while the cache follows the feed, much longer than MaxStale.
		for range 50 {
			if n := f.loads(func() {
				if r := f.resolve("ann"); r.Outcome != dibs.ResolveActive || r.Entity != user("1") || r.Status != 200 {
					f.Errorf("the name leads to %+v", r)
				}
			}); n != 0 {
				f.Fatalf("%d loads, want none", n)
			}
			time.Sleep(maxStale / 3)
		}
		if s := f.cache.Stats(); s.Hits != 50 || s.Misses != 1 || s.Bytes == 0 || s.Lag > maxStale/2 {
			f.Errorf("the figures are %+v", s)
		}
	})
}

// The cache notices every change of a name or its entity, even by events of other names.
func TestNoticesChanges(t *testing.T) {
	run(t, dibs.Config{Default: dibs.Policy{Quarantine: time.Hour}}, func(f *fixture) {
		ann, bob := user("ann"), user("bob")
		f.do(dibs.Claim{Namespace: "slug", Value: "first", Entity: ann})
		f.do(dibs.Claim{Namespace: "slug", Value: "other", Entity: bob})
		f.do(dibs.Rename{Namespace: "slug", Entity: ann, Value: "second"})
		steps := []struct {
			name    string
			command dibs.Command
			value   string
			outcome dibs.ResolveOutcome
			to      string
			entity  dibs.Entity
			late    bool // the name led nowhere, so only MaxStale refreshes it
		}{
			{"nothing", nil, "first", dibs.ResolveMoved, "second", ann, false},
			{"rename, resolved by an older name", dibs.Rename{Namespace: "slug", Entity: ann, Value: "third"}, "first", dibs.ResolveMoved, "third", ann, false},
			{"archive", dibs.Archive{Entity: ann}, "first", dibs.ResolveNotFound, "", dibs.Entity{}, false},
			{"restore", dibs.Restore{Entity: ann}, "first", dibs.ResolveMoved, "third", ann, true},
			{"swap", dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "third", Entity: ann}, B: dibs.Named{Value: "other", Entity: bob}}, "third", dibs.ResolveActive, "", bob, false},
			{"swap, resolved by an older name", nil, "first", dibs.ResolveMoved, "other", ann, false},
			{"decommission", dibs.Decommission{Namespace: "slug", Value: "other", Entity: ann}, "first", dibs.ResolveGone, "", dibs.Entity{}, false},
			{"transfer", dibs.Transfer{Namespace: "slug", Value: "third", From: bob, To: ann}, "third", dibs.ResolveActive, "", ann, false},
			{"delete", dibs.Delete{Entity: ann}, "third", dibs.ResolveGone, "", dibs.Entity{}, false},
		}
		for _, step := range steps {
			for _, value := range []string{"first", "second", "third", "other"} {
				f.resolve(value) // into the cache
			}
			if step.command != nil {
				f.do(step.command)
			}
			f.catchUp()
			if step.late {
				time.Sleep(maxStale)
			}
			r := f.resolve(step.value)
			to := ""
			if r.To != nil {
				to = r.To.Canonical
			}
			if r.Outcome != step.outcome || to != step.to || r.Entity != step.entity {
				f.Errorf("%s: %s leads to %s %s %v", step.name, step.value, r.Outcome, to, r.Entity)
			}
		}
	})
}

// While the feed is down the cache uses an entry until that is too old, and no longer.
func TestFeedDown(t *testing.T) {
	run(t, dibs.Config{}, func(f *fixture) {
		f.do(dibs.Claim{Namespace: "slug", Value: "ann", Entity: user("1")})
		f.catchUp()
		f.resolve("ann")
		f.catchUp()
		f.store.feedDown.Store(true)
		down := time.Now()
		f.do(dibs.Transfer{Namespace: "slug", Value: "ann", From: user("1"), To: user("2")})
		old := 0
		for time.Since(down) <= maxStale {
			if f.resolve("ann").Entity == user("1") {
				old++
			}
			time.Sleep(10 * time.Millisecond)
		}
		if old == 0 {
			f.Error("no answer came from memory: this run proves nothing")
		}
		for range 10 {
			time.Sleep(time.Millisecond)
			if r := f.resolve("ann"); r.Entity != user("2") {
				f.Errorf("%v after the change the name leads to %v", time.Since(down), r.Entity)
			}
		}
		// A new entry lives for MaxStale at most.
		f.do(dibs.Transfer{Namespace: "slug", Value: "ann", From: user("2"), To: user("3")})
		time.Sleep(maxStale + time.Millisecond)
		if r := f.resolve("ann"); r.Entity != user("3") {
			f.Errorf("with the feed still down the name leads to %v", r.Entity)
		}
		f.store.feedDown.Store(false)
		time.Sleep(maxStale)
		f.do(dibs.Transfer{Namespace: "slug", Value: "ann", From: user("3"), To: user("4")})
		f.catchUp()
		if r := f.resolve("ann"); r.Entity != user("4") {
			f.Errorf("with the feed back the name leads to %v", r.Entity)
		}
		time.Sleep(3 * maxStale)
		if n := f.loads(func() { f.resolve("ann") }); n != 0 {
			f.Errorf("with the feed back: %d loads, want none", n)
		}
	})
}

// An old name stops redirecting at a date, without an event.
func TestNoticesDates(t *testing.T) {
	retention := time.Minute
	run(t, dibs.Config{Default: dibs.Policy{AliasRetention: retention}}, func(f *fixture) {
		f.do(dibs.Claim{Namespace: "slug", Value: "old", Entity: user("1")})
		f.do(dibs.Rename{Namespace: "slug", Entity: user("1"), Value: "new"})
		renamed := time.Now()
		for time.Since(renamed) <= retention {
			f.resolve("old")
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(maxStale + time.Millisecond)
		if r := f.resolve("old"); r.Outcome == dibs.ResolveMoved {
			f.Errorf("%v later the name still leads to %s", time.Since(renamed), r.To.Canonical)
		}
	})
}

func TestNoticesPolicies(t *testing.T) {
	run(t, dibs.Config{}, func(f *fixture) {
		f.do(dibs.Claim{Namespace: "slug", Value: "old", Entity: user("1")})
		f.do(dibs.Rename{Namespace: "slug", Entity: user("1"), Value: "new"})
		f.catchUp()
		if r := f.resolve("old"); r.Status != 301 {
			f.Fatalf("the status is %d", r.Status)
		}
		if err := f.registry.SetPolicies(nil, dibs.Policy{RedirectStatus: 307}); err != nil {
			f.Fatal(err)
		}
		time.Sleep(maxStale)
		if r := f.resolve("old"); r.Status != 307 {
			f.Errorf("with another policy the status is %d", r.Status)
		}
	})
}

func TestCheck(t *testing.T) {
	run(t, dibs.Config{}, func(f *fixture) {
		check := func(request dibs.CheckRequest) (free []bool) {
			f.Helper()
			request.Namespace = "slug"
			answers, err := f.cache.Check(f.Context(), request)
			if err != nil {
				f.Fatal(err)
			}
			for i, a := range answers {
				if a.Value != request.Values[i] {
					f.Errorf("the answer to %q is about %q", request.Values[i], a.Value)
				}
				free = append(free, a.Available)
			}
			return free
		}
		is := func(got []bool, want ...bool) {
			f.Helper()
			for i := range want {
				if len(got) != len(want) || got[i] != want[i] {
					f.Errorf("got %v, want %v", got, want)
					return
				}
			}
		}
		f.do(dibs.Claim{Namespace: "slug", Value: "taken", Entity: user("1")})
		f.catchUp()
		is(check(dibs.CheckRequest{Values: []string{"free", "taken"}}), true, false)
		if n := f.loads(func() { is(check(dibs.CheckRequest{Values: []string{"taken", "free"}}), false, true) }); n != 0 {
			f.Errorf("%d loads, want none", n)
		}
		if n := f.loads(func() { is(check(dibs.CheckRequest{Values: []string{"taken", "new", "free"}}), false, true, true) }); n != 1 {
			f.Errorf("%d loads for one new value, want one", n)
		}
		f.do(dibs.Claim{Namespace: "slug", Value: "free", Entity: user("2")})
		f.catchUp()
		is(check(dibs.CheckRequest{Values: []string{"taken", "free"}}), false, false)

		hold, err := f.registry.Reserve(f.Context(), dibs.Reserve{Namespace: "slug", Value: "held", TTL: dibs.For(5 * time.Second)})
		if err != nil {
			f.Fatal(err)
		}
		is(check(dibs.CheckRequest{Values: []string{"held"}}), false)
		time.Sleep(time.Until(hold.ExpiresAt) + maxStale)
		is(check(dibs.CheckRequest{Values: []string{"held"}}), true)

		if n := f.loads(func() { check(dibs.CheckRequest{Values: []string{"taken"}, Suggest: 2}) }); n == 0 {
			f.Error("suggestions came from memory")
		}
		if n := f.loads(func() { check(dibs.CheckRequest{Values: []string{"taken"}, Entity: user("1")}) }); n == 0 {
			f.Error("an answer for an entity came from memory")
		}
		if _, err := f.cache.Check(f.Context(), dibs.CheckRequest{Namespace: "!", Values: []string{"a"}}); !errors.Is(err, dibs.ErrInvalidNamespace) {
			f.Errorf("an invalid namespace: %v", err)
		}
	})
}

func TestDoesNotCacheErrors(t *testing.T) {
	run(t, dibs.Config{}, func(f *fixture) {
		for range 2 {
			if _, err := f.cache.Resolve(f.Context(), "not a namespace", "a"); !errors.Is(err, dibs.ErrInvalidNamespace) {
				f.Errorf("got %v", err)
			}
		}
		if s := f.cache.Stats(); s.Bytes != 0 {
			f.Errorf("the entries take %d bytes, want none", s.Bytes)
		}
	})
}

// Cursors become invalid when a registry is restored from a backup. The cache then drops
// all entries.
func TestInvalidCursor(t *testing.T) {
	run(t, dibs.Config{}, func(f *fixture) {
		f.do(dibs.Claim{Namespace: "slug", Value: "ann", Entity: user("1")})
		f.catchUp()
		f.resolve("ann")
		f.store.cursorsLost.Store(true)
		f.do(dibs.Transfer{Namespace: "slug", Value: "ann", From: user("1"), To: user("2")})
		time.Sleep(maxStale)
		f.store.cursorsLost.Store(false)
		if r := f.resolve("ann"); r.Entity != user("2") {
			f.Errorf("the name leads to %v", r)
		}
		time.Sleep(maxStale)
		f.do(dibs.Transfer{Namespace: "slug", Value: "ann", From: user("2"), To: user("3")})
		f.catchUp()
		if r := f.resolve("ann"); r.Entity != user("3") {
			f.Errorf("later the name leads to %v", r)
		}
	})
}

func TestNewRequiresMaxStale(t *testing.T) {
	t.Parallel()
	if _, err := dibscache.New(nil, dibscache.Config{}); err == nil {
		t.Error("New accepts a zero MaxStale")
	}
}

// Old names that redirect to a forgotten name lead nowhere, and the event does not contain
// their entity.
func TestNoticesForget(t *testing.T) {
	for name, request := range map[string]dibs.ForgetRequest{
		"the name":   {Namespace: "slug", Value: "second", Entity: user("1")},
		"the entity": {Entity: user("1")},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, dibs.Config{}, func(f *fixture) {
				f.do(dibs.Claim{Namespace: "slug", Value: "first", Entity: user("1")})
				f.do(dibs.Rename{Namespace: "slug", Value: "second", Entity: user("1")})
				f.catchUp()
				if r := f.resolve("first"); r.Outcome != dibs.ResolveMoved {
					f.Fatalf("the name leads to %+v", r)
				}
				if _, err := f.registry.As(dibs.Principal{Rights: dibs.Operate}).Forget(f.Context(), request); err != nil {
					f.Fatal(err)
				}
				time.Sleep(2 * maxStale)
				if r := f.resolve("first"); r.Outcome == dibs.ResolveMoved {
					f.Errorf("the name still leads to %s", r.To.Key())
				}
			})
		})
	}
}

// Events between the loss of the cursor and the new start are in no page.
func TestChangeWhileStartingOver(t *testing.T) {
	run(t, dibs.Config{}, func(f *fixture) {
		f.do(dibs.Claim{Namespace: "slug", Value: "ann", Entity: user("1")})
		f.catchUp()
		f.store.cursorsLost.Store(true)
		for lost := false; !lost; { // until the cache notices
			time.Sleep(time.Millisecond)
			synctest.Wait()
			lost = f.cache.Stats().Lag > maxStale
		}
		f.store.cursorsLost.Store(false)
		f.resolve("ann")
		f.do(dibs.Transfer{Namespace: "slug", Value: "ann", From: user("1"), To: user("2")})
		time.Sleep(10 * maxStale)
		if r := f.resolve("ann"); r.Entity != user("2") {
			f.Errorf("the name leads to %v, %v old", r.Entity, r.Age)
		}
	})
}

// Events of the time when the feed was down may be purged when it is back.
func TestPurgeWhileFeedDown(t *testing.T) {
	run(t, dibs.Config{Default: dibs.Policy{HoldHistory: 10 * time.Second}}, func(f *fixture) {
		f.do(dibs.Claim{Namespace: "slug", Value: "ann", Entity: user("1")})
		f.catchUp()
		f.resolve("ann")
		f.store.feedDown.Store(true)
		time.Sleep(maxStale)
		if _, err := f.registry.As(dibs.Principal{Rights: dibs.Operate}).Forget(f.Context(), dibs.ForgetRequest{Namespace: "slug", Value: "ann", Entity: user("1")}); err != nil {
			f.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if _, err := f.registry.Sweep(f.Context(), 100); err != nil {
			f.Fatal(err)
		}
		f.store.feedDown.Store(false)
		time.Sleep(2 * maxStale)
		if r := f.resolve("ann"); r.Outcome != dibs.ResolveNotFound {
			f.Errorf("the name leads to %v, %v old", r.Entity, r.Age)
		}
	})
}
