package core_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// clockedSpy is a spy on an engine that can estimate its time without a Load, so that the registry
// guesses. It counts loads and commits of names; counters are stored in the background.
type clockedSpy struct {
	*coretest.Spy
	off            time.Duration // error of the estimate
	lost           bool          // the engine has no estimate
	loads, commits int
	stale          int // groups whose outcome was Stale
}

func (s *clockedSpy) Now() (dibs.Instant, bool) {
	now, _ := s.Store.(dibs.Clock).Now()
	return now.Add(s.off), !s.lost
}

func (s *clockedSpy) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	if slices.ContainsFunc(refs, ofNames) {
		s.loads++
	}
	return s.Spy.Load(ctx, refs)
}

func ofNames(ref dibs.Ref) bool { return ref.Kind == dibs.KindName || ref.Kind == dibs.KindEntity }

func (s *clockedSpy) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if !slices.ContainsFunc(groups, func(g dibs.Group) bool {
		return slices.ContainsFunc(g.Reads, func(r dibs.Read) bool { return ofNames(r.Ref) })
	}) {
		return s.Spy.Commit(ctx, groups)
	}
	s.commits++
	outcomes, err := s.Spy.Commit(ctx, groups)
	for _, outcome := range outcomes {
		if outcome == dibs.Stale {
			s.stale++
		}
	}
	return outcomes, err
}

// newGuessing opens a registry that guesses, and that remembers the namespace record of slug. The
// other registry on the same engine stands for other processes.
func newGuessing(t *testing.T, policies map[string]dibs.Policy) (f, other *coretest.Fixture, s *clockedSpy) {
	t.Helper()
	f = coretest.NewFixture(t, policies)
	s = &clockedSpy{Spy: &coretest.Spy{Store: coretest.StrictStore{Store: f.Engine, T: t}}}
	guessing := f.With(coretest.MustOpen(t, s, dibs.Config{Policies: policies, Suggestions: -1}))
	guessing.Must(coretest.Reserve("slug", "first", coretest.Token1))
	s.reset()
	return guessing, f, s
}

// reset starts the counts again.
func (s *clockedSpy) reset() { s.loads, s.commits = 0, 0 }

// took checks the number of loads and commits since the last check.
func (s *clockedSpy) took(t *testing.T, what string, loads, commits int) {
	t.Helper()
	if s.loads != loads || s.commits != commits {
		t.Errorf("%s took %d loads and %d commits, want %d and %d", what, s.loads, s.commits, loads, commits)
	}
	s.reset()
}

// A common command costs one commit and no load. A command that changes nothing is always loaded.
func TestGuessesSaveTheLoad(t *testing.T) {
	t.Parallel()
	f, _, s := newGuessing(t, map[string]dibs.Policy{"few": {MaxHolds: 5}})
	f.Must(coretest.Reserve("few", "first", coretest.Token1), coretest.Claim("acme.slug", "first", coretest.User3))
	s.reset()
	on := dibs.NameID
	for _, c := range []struct {
		name           string
		command        dibs.Command
		loads, commits int
	}{
		{"reserve", coretest.Reserve("slug", "a", coretest.Token1), 0, 1},
		{"reserve again", coretest.Reserve("slug", "a", coretest.Token1), 1, 0}, // replayed
		{"reserve few", coretest.Reserve("few", "a", coretest.Token1), 0, 1},    // the quota is remembered
		{"extend", dibs.Extend{ID: on("slug", "a"), Token: coretest.Token1, TTL: dibs.For(2 * dibs.DefaultTTL)}, 0, 1},
		{"confirm", dibs.Confirm{ID: on("slug", "a"), Token: coretest.Token1, Entity: coretest.User1}, 0, 1},
		{"reserve another", coretest.Reserve("slug", "b", coretest.Token1), 0, 1},
		{"release", dibs.Release{ID: on("slug", "b"), Token: coretest.Token1}, 0, 1},
		{"reserve a freed one", coretest.Reserve("slug", "b", coretest.Token2), 0, 1},
		{"claim", coretest.Claim("slug", "c", coretest.User2), 0, 1},
		{"rename", coretest.Rename("slug", "d", coretest.User1), 0, 1},
		{"swap", dibs.Swap{Namespace: "slug", A: dibs.Named{Value: "d", Entity: coretest.User1}, B: dibs.Named{Value: "c", Entity: coretest.User2}}, 0, 1},
		{"reserve all", dibs.ReserveAll{Reservations: []dibs.Reserve{coretest.Reserve("slug", "e", ""), coretest.Reserve("few", "e", "")}}, 0, 1},
		{"reserve in a scope", coretest.Reserve("acme.slug", "a", coretest.Token1), 0, 1},
		{"confirm in a scope", dibs.Confirm{ID: on("acme.slug", "a"), Token: coretest.Token1, Entity: coretest.User1}, 0, 1},
		{"a new namespace", coretest.Reserve("new", "a", coretest.Token1), 1, 1},         // its namespace record is not remembered
		{"an unknown entity", dibs.Archive{Entity: coretest.User3}, 1, 0},                // refused
		{"a taken name", coretest.Claim("slug", "d", coretest.User3), 1, 0},              // refused, and remembered as taken
		{"the first of some", firstOf("slug", "f", "g"), 1, 1},                           // a guess would miss a candidate that the token holds
		{"delete", dibs.Delete{Entity: coretest.User1}, 3, 1},                            // loads its names one after another
		{"a name of another entity", coretest.Rename("slug", "d", coretest.User1), 1, 0}, // refused
		{"one more hold", coretest.Reserve("few", "b", coretest.Token1), 0, 1},           //
	} {
		_, _ = f.Apply(f.Ctx, c.command)
		s.took(t, c.name, c.loads, c.commits)
	}
	if _, err := f.DryRun(f.Ctx, coretest.Reserve("slug", "h", coretest.Token1)); err != nil {
		t.Error(err)
	}
	s.took(t, "a dry run", 1, 0)
	if s.stale > 0 {
		t.Errorf("%d groups were stale", s.stale)
	}
}

func firstOf(namespace string, values ...string) dibs.ReserveFirst {
	return dibs.ReserveFirst{Namespace: namespace, Values: values, Token: coretest.Token1}
}

// A batch is guessed as a whole. If one request changes nothing, the whole batch is loaded: the answer
// to that request must not depend on a guess. A request that changes nothing because of another one
// of the batch is decided again on a load after the commit.
func TestGuessesOfABatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more   []dibs.Command
		dry    bool
		want   error
		loads  int
		groups int
	}{
		"all change something":          {more: []dibs.Command{coretest.Reserve("slug", "z", coretest.Token1)}, groups: 3},
		"one depends on another":        {more: []dibs.Command{coretest.Rename("slug", "z", coretest.User1)}, groups: 2},
		"refused by another":            {more: []dibs.Command{coretest.Reserve("slug", "x", coretest.Token2)}, want: dibs.ErrNameTaken, loads: 1, groups: 2},
		"refused":                       {more: []dibs.Command{coretest.Reserve("slug", "first", "")}, want: dibs.ErrNameTaken, loads: 1, groups: 2},
		"replayed":                      {more: []dibs.Command{coretest.Reserve("slug", "first", coretest.Token1)}, loads: 1, groups: 2},
		"dry":                           {more: []dibs.Command{coretest.Reserve("slug", "z", coretest.Token1)}, dry: true, loads: 1, groups: 2},
		"replayed in a list":            {more: []dibs.Command{coretest.Reserve("slug", "first", coretest.Token1), coretest.Reserve("slug", "z", "")}, groups: 3},
		"free, but remembered as taken": {more: []dibs.Command{coretest.Claim("slug", "gone", coretest.User2)}, loads: 1, groups: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, other, s := newGuessing(t, nil)
				f.Must(coretest.Claim("warm", "first", coretest.User3), coretest.Claim("slug", "gone", coretest.User3))
				other.Must(coretest.Decommission("slug", "gone", coretest.User3)) // unknown to the guessing registry
				s.loads = 0
				groups := 0
				got := coretest.InOneBatch(f, s.Spy, func(g []dibs.Group) ([]dibs.Outcome, error) {
					groups += len(g)
					return nil, nil
				}, map[int]bool{2: c.dry},
					[]dibs.Command{coretest.Claim("slug", "x", coretest.User1)}, []dibs.Command{coretest.Reserve("slug", "y", coretest.Token1)}, c.more,
				)
				for i, want := range []error{nil, nil, c.want} {
					if !errors.Is(got[i].Err, want) {
						t.Errorf("request %d: %v, want %v", i, got[i].Err, want)
					}
				}
				if s.loads != c.loads || groups != c.groups {
					t.Errorf("%d loads and %d groups, want %d and %d", s.loads, groups, c.loads, c.groups)
				}
			})
		})
	}
}

// After a failure of the engine nothing is remembered: it may have lost data.
func TestGuessesEndWithAFailure(t *testing.T) {
	t.Parallel()
	f, _, s := newGuessing(t, nil)
	broken := errors.New("the disk is gone")
	s.OnCommit = func([]dibs.Group) ([]dibs.Outcome, error) { return nil, broken }
	_, err := f.Apply(f.Ctx, coretest.Reserve("slug", "x", coretest.Token1))
	f.WantError(err, dibs.ErrOutcomeUnknown)
	s.OnCommit = nil
	s.reset()
	f.Must(coretest.Reserve("slug", "x", coretest.Token1))
	s.took(t, "the first after a failure", 1, 1)
	f.Must(coretest.Reserve("slug", "y", coretest.Token1))
	s.took(t, "the second", 0, 1)
}

// Remembered records expire, whether they are used or not.
func TestGuessesExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, _, s := newGuessing(t, nil)
		time.Sleep(time.Hour)
		s.reset()
		f.Must(coretest.Reserve("slug", "x", coretest.Token1))
		s.took(t, "the first command after an hour", 1, 1)
		for i := range 60 { // an hour in the bubble
			f.Must(coretest.Reserve("slug", fmt.Sprint("name-", i), coretest.Token1))
			time.Sleep(time.Minute)
		}
		if s.loads == 0 {
			t.Error("the namespace record was not loaded for an hour")
		}
	})
}

// Where most names are taken the registry seldom guesses. Where most are free again it always does.
func TestGuessesFollowTheirRate(t *testing.T) {
	t.Parallel()
	f, other, s := newGuessing(t, nil)
	for i := range 300 {
		other.Must(coretest.Reserve("slug", fmt.Sprint("taken-", i), coretest.Token2))
	}
	for i := range 300 {
		_, err := f.Apply(f.Ctx, coretest.Reserve("slug", fmt.Sprint("taken-", i), coretest.Token1))
		f.WantError(err, dibs.ErrNameTaken)
	}
	if s.stale < 12 || s.stale > 30 {
		t.Errorf("%d stale groups for 300 taken names", s.stale)
	}
	for i := range 1000 {
		f.Must(coretest.Reserve("slug", fmt.Sprint("free-", i), coretest.Token1))
	}
	s.reset()
	f.Must(coretest.Reserve("slug", "free", coretest.Token1))
	s.took(t, "a name where most are free", 0, 1)
}

// Nothing is guessed in a transaction of the caller: a stale commit could fail all of it.
func TestGuessesNothingInATransaction(t *testing.T) {
	t.Parallel()
	f, _, s := newGuessing(t, nil)
	bound := f.With(f.InTransaction(func(store dibs.Store) (dibs.Store, error) { return store, nil }))
	bound.Must(coretest.Reserve("slug", "x", coretest.Token1))
	s.took(t, "a transaction", 1, 1)
}

// A blocked command is decided again from a Load, not from remembered records.
func TestGuessesNothingWhenBlocked(t *testing.T) {
	t.Parallel()
	f, _, s := newGuessing(t, nil)
	first := true
	s.OnCommit = func(groups []dibs.Group) ([]dibs.Outcome, error) {
		if first {
			first = false
			return []dibs.Outcome{dibs.Busy}, nil
		}
		return s.Store.Commit(context.Background(), groups)
	}
	s.reset()
	f.Must(coretest.Reserve("slug", "x", coretest.Token1))
	s.took(t, "a busy name", 1, 2)
}

// A name that is guessed to be free and is taken costs a stale commit. The answer is the same as
// without a guess.
func TestGuessedFreeButTaken(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for name, c := range map[string]struct {
		setup  []dibs.Command
		reason dibs.Reason
	}{
		"held":        {[]dibs.Command{coretest.Reserve("slug", "x", coretest.Token2)}, dibs.ReasonHeld},
		"active":      {[]dibs.Command{coretest.Claim("slug", "x", coretest.User2)}, dibs.ReasonInUse},
		"alias":       {[]dibs.Command{coretest.Claim("slug", "x", coretest.User2), coretest.Rename("slug", "y", coretest.User2)}, dibs.ReasonInUse},
		"quarantined": {[]dibs.Command{coretest.Claim("slug", "x", coretest.User2), coretest.Decommission("slug", "x", coretest.User2)}, dibs.ReasonQuarantined},
	} {
		for _, wants := range []struct {
			command dibs.Command
			loads   int
		}{
			{coretest.Reserve("slug", "x", coretest.Token1), 1},
			{coretest.Claim("slug", "x", coretest.User1), 1},
			{coretest.Rename("slug", "x", coretest.User3), 2}, // the present name is found by the entity
		} {
			t.Run(fmt.Sprintf("%s/%T", name, wants.command), func(t *testing.T) {
				t.Parallel()
				f, other, s := newGuessing(t, map[string]dibs.Policy{"slug": {Quarantine: hour}})
				f.Must(coretest.Claim("slug", "mine", coretest.User3))
				other.Must(c.setup...)
				s.reset()
				if err := f.Refused(dibs.ErrNameTaken, wants.command); err.Reason != c.reason {
					t.Errorf("the reason is %s, want %s", err.Reason, c.reason)
				}
				s.took(t, "a wrong guess", wants.loads, 1)
			})
		}
	}
	t.Run("free again", func(t *testing.T) {
		t.Parallel()
		f, other, _ := newGuessing(t, nil)
		other.Must(coretest.Reserve("slug", "x", coretest.Token2), dibs.Release{ID: dibs.NameID("slug", "x"), Token: coretest.Token2})
		if n := f.One(coretest.Reserve("slug", "x", coretest.Token1)); n.Epoch != 2 {
			t.Errorf("the epoch is %d", n.Epoch)
		}
		f.WantKinds("slug", "x", dibs.EventReserved, dibs.EventReleased, dibs.EventReserved)
	})
	t.Run("an entity that is not new", func(t *testing.T) {
		t.Parallel()
		f, other, _ := newGuessing(t, nil)
		other.Must(coretest.Claim("slug", "mine", coretest.User1))
		f.Refused(dibs.ErrEntityHasName, coretest.Claim("slug", "x", coretest.User1))
		f.Must(coretest.Reserve("slug", "x", coretest.Token1))
		other.Must(coretest.Claim("slug", "hers", coretest.User2), dibs.Archive{Entity: coretest.User2})
		f.Refused(dibs.ErrEntityArchived, dibs.Confirm{ID: dibs.NameID("slug", "x"), Token: coretest.Token1, Entity: coretest.User2})
	})
}

// A remembered hold may have changed.
func TestGuessedHoldHasChanged(t *testing.T) {
	t.Parallel()
	id := dibs.NameID("slug", "first")
	confirm := dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User1}
	for name, c := range map[string]struct {
		change dibs.Command
		want   error
	}{
		"extended":             {dibs.Extend{ID: id, Token: coretest.Token1, TTL: dibs.For(2 * dibs.DefaultTTL)}, nil},
		"released":             {dibs.Release{ID: id, Token: coretest.Token1}, dibs.ErrAlreadyReleased},
		"confirmed to another": {dibs.Confirm{ID: id, Token: coretest.Token1, Entity: coretest.User2}, dibs.ErrAlreadyConfirmed},
		"confirmed":            {confirm, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, other, _ := newGuessing(t, nil)
			other.Must(c.change)
			if _, err := f.Apply(f.Ctx, confirm); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if c.want == nil {
				f.WantActive(coretest.User1, "first")
			}
		})
	}
	t.Run("purged", func(t *testing.T) {
		t.Parallel()
		f, other, s := newGuessing(t, map[string]dibs.Policy{"slug": {HoldHistory: dibs.MinHoldHistory}})
		other.Must(dibs.Release{ID: id, Token: coretest.Token1})
		f.Clock.Advance(dibs.MinHoldHistory)
		other.SweepAll()
		s.reset()
		f.Refused(dibs.ErrNotFound, confirm)
		s.took(t, "a purged name", 1, 1)
		f.Refused(dibs.ErrNotFound, confirm)
		s.took(t, "a name that is remembered as absent", 1, 0)
	})
	t.Run("purged, and reserved again", func(t *testing.T) {
		t.Parallel()
		f, other, _ := newGuessing(t, nil)
		other.Must(dibs.Release{ID: id, Token: coretest.Token1})
		f.Clock.Advance(dibs.DefaultHoldHistory)
		other.SweepAll()
		other.Must(coretest.Reserve("slug", "first", coretest.Token2))
		f.Refused(dibs.ErrLost, confirm)
	})
}

// With any error of the estimated time the answer is right by the engine's clock.
func TestGuessedTime(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{-5 * time.Hour, -3 * time.Second, -time.Second, 50 * time.Millisecond, time.Second, 5 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			t.Parallel()
			f, other, s := newGuessing(t, nil)
			other.Must(coretest.Reserve("slug", "hers", coretest.Token2))
			_, err := f.Apply(f.Ctx, coretest.Claim("slug", "hers", coretest.User2)) // remembered as held from now on
			f.WantError(err, dibs.ErrNameTaken)
			s.off = off
			s.reset()
			n := f.One(coretest.Reserve("slug", "x", coretest.Token1))
			near := -2*time.Second < off && off < 100*time.Millisecond
			if near {
				s.took(t, "a good estimate", 0, 1)
			} else {
				s.took(t, "a bad estimate", 1, 2)
			}
			want := f.Clock.Now().Add(dibs.DefaultTTL)
			if diff := n.ExpiresAt.Sub(want); (near && diff != off) || (!near && diff != 0) {
				t.Errorf("the end of the hold is off by %v", diff)
			}
			f.Refused(dibs.ErrNameTaken, coretest.Claim("slug", "hers", coretest.User2)) // even if the hold seems to be over
			f.Clock.Advance(dibs.DefaultTTL)
			f.Refused(dibs.ErrAlreadyExpired, dibs.Confirm{ID: dibs.NameID("slug", "first"), Token: coretest.Token1, Entity: coretest.User1})
			f.Must(coretest.Claim("slug", "hers", coretest.User2)) // even if the hold seems to last
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		f, _, s := newGuessing(t, nil)
		s.lost = true
		s.reset()
		f.Must(coretest.Reserve("slug", "x", coretest.Token1))
		s.took(t, "an engine without an estimate", 1, 1)
	})
}

// Another process purges a name, which raises the epoch in the remembered namespace record.
func TestGuessedNamespaceRecordIsRaised(t *testing.T) {
	t.Parallel()
	f, other, _ := newGuessing(t, nil)
	for i := range 6 {
		token := fmt.Sprint(coretest.Token2, i)
		other.Must(coretest.Reserve("slug", "x", token), dibs.Release{ID: dibs.NameID("slug", "x"), Token: token})
	}
	f.Clock.Advance(dibs.DefaultHoldHistory)
	other.SweepAll()
	if n := f.One(coretest.Claim("slug", "x", coretest.User1)); n.Epoch != 7 {
		t.Errorf("the epoch is %d, want 7", n.Epoch)
	}
}

// A name that this registry has purged is remembered as absent.
func TestGuessedAbsentAfterAPurge(t *testing.T) {
	t.Parallel()
	f, _, s := newGuessing(t, nil)
	f.Must(dibs.Release{ID: dibs.NameID("slug", "first"), Token: coretest.Token1})
	f.Clock.Advance(dibs.DefaultHoldHistory)
	f.SweepAll()
	s.reset()
	if n := f.One(coretest.Reserve("slug", "first", coretest.Token1)); n.Epoch != 2 {
		t.Errorf("the epoch is %d, want 2", n.Epoch)
	}
	s.took(t, "a purged name", 0, 1)
}

// The candidate that the token holds comes first, even if another process reserved it.
func TestGuessesDoNotSkipTheHeldCandidate(t *testing.T) {
	t.Parallel()
	f, other, _ := newGuessing(t, nil)
	other.Must(coretest.Reserve("slug", "b", coretest.Token1))
	result := f.Replayed(firstOf("slug", "a", "b"))
	if result.Names[0].Canonical != "b" {
		t.Errorf("got %s, the token holds b", result.Names[0].Canonical)
	}
}
