package core_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// A name that is expected to be fresh and is not costs a commit in vain, and is
// answered as if nobody had guessed.
func TestGuessedFreshButTaken(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for name, c := range map[string]struct {
		setup  []dibs.Command
		reason dibs.Reason
	}{
		"held":        {[]dibs.Command{reserve("slug", "x", token2)}, dibs.ReasonHeld},
		"active":      {[]dibs.Command{claim("slug", "x", user2)}, dibs.ReasonInUse},
		"alias":       {[]dibs.Command{claim("slug", "x", user2), rename("slug", "y", user2)}, dibs.ReasonInUse},
		"quarantined": {[]dibs.Command{claim("slug", "x", user2), decommission("slug", "x", user2)}, dibs.ReasonQuarantined},
	} {
		for _, wants := range []struct {
			command dibs.Command
			loads   int
		}{
			{reserve("slug", "x", token1), 1},
			{claim("slug", "x", user1), 1},
			{rename("slug", "x", user3), 2}, // the present name is found by the entity
		} {
			t.Run(fmt.Sprintf("%s/%T", name, wants.command), func(t *testing.T) {
				t.Parallel()
				f, other, s := newGuessing(t, map[string]dibs.Policy{"slug": {Quarantine: hour}})
				f.must(claim("slug", "mine", user3))
				other.must(c.setup...)
				s.loads, s.commits = 0, 0
				if err := f.refused(dibs.ErrNameTaken, wants.command); err.Reason != c.reason {
					t.Errorf("the reason is %s, want %s", err.Reason, c.reason)
				}
				s.took(t, "a wrong guess", wants.loads, 1)
			})
		}
	}
	t.Run("free again", func(t *testing.T) {
		t.Parallel()
		f, other, _ := newGuessing(t, nil)
		other.must(reserve("slug", "x", token2), dibs.Release{ID: dibs.NameID("slug", "x"), Token: token2})
		if n := f.one(reserve("slug", "x", token1)); n.Epoch != 2 {
			t.Errorf("the epoch is %d", n.Epoch)
		}
		wantKinds(t, f, "slug", "x", dibs.EventReserved, dibs.EventReleased, dibs.EventReserved)
	})
	t.Run("an entity that is not", func(t *testing.T) {
		t.Parallel()
		f, other, _ := newGuessing(t, nil)
		other.must(claim("slug", "mine", user1))
		f.refused(dibs.ErrEntityHasName, claim("slug", "x", user1))
		f.must(reserve("slug", "x", token1))
		other.must(claim("slug", "hers", user2), dibs.Archive{Entity: user2})
		f.refused(dibs.ErrEntityArchived, dibs.Confirm{ID: dibs.NameID("slug", "x"), Token: token1, Entity: user2})
	})
}

// A hold that this registry remembers may have changed since.
func TestGuessedHoldHasChanged(t *testing.T) {
	t.Parallel()
	id := dibs.NameID("slug", "first")
	confirm := dibs.Confirm{ID: id, Token: token1, Entity: user1}
	for name, c := range map[string]struct {
		change dibs.Command
		want   error
	}{
		"extended":             {dibs.Extend{ID: id, Token: token1, TTL: dibs.For(2 * dibs.DefaultTTL)}, nil},
		"released":             {dibs.Release{ID: id, Token: token1}, dibs.ErrAlreadyReleased},
		"confirmed to another": {dibs.Confirm{ID: id, Token: token1, Entity: user2}, dibs.ErrAlreadyConfirmed},
		"confirmed":            {confirm, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, other, _ := newGuessing(t, nil)
			other.must(c.change)
			if _, err := f.Apply(f.ctx, confirm); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if c.want == nil {
				f.wantActive(user1, "first")
			}
		})
	}
	t.Run("purged", func(t *testing.T) {
		t.Parallel()
		f, other, s := newGuessing(t, map[string]dibs.Policy{"slug": {HoldHistory: dibs.MinHoldHistory}})
		other.must(dibs.Release{ID: id, Token: token1})
		f.clock.advance(dibs.MinHoldHistory)
		other.sweep()
		s.loads, s.commits = 0, 0
		f.refused(dibs.ErrNotFound, confirm)
		s.took(t, "a name that is gone", 1, 1)
		f.refused(dibs.ErrNotFound, confirm)
		s.took(t, "a name that is known to be gone", 1, 0)
	})
	t.Run("purged, and somebody else's", func(t *testing.T) {
		t.Parallel()
		f, other, _ := newGuessing(t, nil)
		other.must(dibs.Release{ID: id, Token: token1})
		f.clock.advance(dibs.DefaultHoldHistory)
		other.sweep()
		other.must(reserve("slug", "first", token2))
		f.refused(dibs.ErrLost, confirm)
	})
}

// However wrong the estimate of the time is, the answer is right by the engine's.
func TestGuessedTime(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{-5 * time.Hour, -3 * time.Second, -time.Second, 50 * time.Millisecond, time.Second, 5 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			t.Parallel()
			f, other, s := newGuessing(t, nil)
			other.must(reserve("slug", "hers", token2))
			_, err := f.Apply(f.ctx, claim("slug", "hers", user2)) // known to be held from now on
			f.checkError(err, dibs.ErrNameTaken)
			s.off = off
			s.loads, s.commits = 0, 0
			n := f.one(reserve("slug", "x", token1))
			near := -2*time.Second < off && off < 100*time.Millisecond
			if near {
				s.took(t, "a good estimate", 0, 1)
			} else {
				s.took(t, "a bad estimate", 1, 2)
			}
			want := f.clock.Now().Add(dibs.DefaultTTL)
			if diff := n.ExpiresAt.Sub(want); (near && diff != off) || (!near && diff != 0) {
				t.Errorf("the hold ends %v off", diff)
			}
			f.refused(dibs.ErrNameTaken, claim("slug", "hers", user2)) // also if it seems to be over
			f.clock.advance(dibs.DefaultTTL)
			f.refused(dibs.ErrAlreadyExpired, dibs.Confirm{ID: dibs.NameID("slug", "first"), Token: token1, Entity: user1})
			f.must(claim("slug", "hers", user2)) // also if it seems to last
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		f, _, s := newGuessing(t, nil)
		s.lost = true
		s.loads, s.commits = 0, 0
		f.must(reserve("slug", "x", token1))
		s.took(t, "an engine without an estimate", 1, 1)
	})
}

// A name is purged by another process, which raises the floor that this registry
// remembers.
func TestGuessedFloorIsRaised(t *testing.T) {
	t.Parallel()
	f, other, _ := newGuessing(t, nil)
	for i := range 6 {
		token := fmt.Sprint(token2, i)
		other.must(reserve("slug", "x", token), dibs.Release{ID: dibs.NameID("slug", "x"), Token: token})
	}
	f.clock.advance(dibs.DefaultHoldHistory)
	other.sweep()
	if n := f.one(claim("slug", "x", user1)); n.Epoch != 7 {
		t.Errorf("the epoch is %d, want 7", n.Epoch)
	}
}

// A name that this registry has purged itself is known to be fresh.
func TestGuessedFreshAfterAPurge(t *testing.T) {
	t.Parallel()
	f, _, s := newGuessing(t, nil)
	f.must(dibs.Release{ID: dibs.NameID("slug", "first"), Token: token1})
	f.clock.advance(dibs.DefaultHoldHistory)
	f.sweep()
	s.loads, s.commits = 0, 0
	if n := f.one(reserve("slug", "first", token1)); n.Epoch != 2 {
		t.Errorf("the epoch is %d, want 2", n.Epoch)
	}
	s.took(t, "a purged name", 0, 1)
}

// The candidate that the token holds comes first, whoever reserved it.
func TestGuessesLeaveCandidatesAlone(t *testing.T) {
	t.Parallel()
	f, other, _ := newGuessing(t, nil)
	other.must(reserve("slug", "b", token1))
	result := f.replayed(firstOf("slug", "a", "b"))
	if result.Names[0].Canonical != "b" {
		t.Errorf("got %s, the token holds b", result.Names[0].Canonical)
	}
}
