package core_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
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
				s.loads, s.commits = 0, 0
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
		coretest.WantKinds(t, f, "slug", "x", dibs.EventReserved, dibs.EventReleased, dibs.EventReserved)
	})
	t.Run("an entity that is not", func(t *testing.T) {
		t.Parallel()
		f, other, _ := newGuessing(t, nil)
		other.Must(coretest.Claim("slug", "mine", coretest.User1))
		f.Refused(dibs.ErrEntityHasName, coretest.Claim("slug", "x", coretest.User1))
		f.Must(coretest.Reserve("slug", "x", coretest.Token1))
		other.Must(coretest.Claim("slug", "hers", coretest.User2), dibs.Archive{Entity: coretest.User2})
		f.Refused(dibs.ErrEntityArchived, dibs.Confirm{ID: dibs.NameID("slug", "x"), Token: coretest.Token1, Entity: coretest.User2})
	})
}

// A hold that this registry remembers may have changed since.
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
		s.loads, s.commits = 0, 0
		f.Refused(dibs.ErrNotFound, confirm)
		s.took(t, "a name that is gone", 1, 1)
		f.Refused(dibs.ErrNotFound, confirm)
		s.took(t, "a name that is known to be gone", 1, 0)
	})
	t.Run("purged, and somebody else's", func(t *testing.T) {
		t.Parallel()
		f, other, _ := newGuessing(t, nil)
		other.Must(dibs.Release{ID: id, Token: coretest.Token1})
		f.Clock.Advance(dibs.DefaultHoldHistory)
		other.SweepAll()
		other.Must(coretest.Reserve("slug", "first", coretest.Token2))
		f.Refused(dibs.ErrLost, confirm)
	})
}

// However wrong the estimate of the time is, the answer is right by the engine's.
func TestGuessedTime(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{-5 * time.Hour, -3 * time.Second, -time.Second, 50 * time.Millisecond, time.Second, 5 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			t.Parallel()
			f, other, s := newGuessing(t, nil)
			other.Must(coretest.Reserve("slug", "hers", coretest.Token2))
			_, err := f.Apply(f.Ctx, coretest.Claim("slug", "hers", coretest.User2)) // known to be held from now on
			f.CheckError(err, dibs.ErrNameTaken)
			s.off = off
			s.loads, s.commits = 0, 0
			n := f.One(coretest.Reserve("slug", "x", coretest.Token1))
			near := -2*time.Second < off && off < 100*time.Millisecond
			if near {
				s.took(t, "a good estimate", 0, 1)
			} else {
				s.took(t, "a bad estimate", 1, 2)
			}
			want := f.Clock.Now().Add(dibs.DefaultTTL)
			if diff := n.ExpiresAt.Sub(want); (near && diff != off) || (!near && diff != 0) {
				t.Errorf("the hold ends %v off", diff)
			}
			f.Refused(dibs.ErrNameTaken, coretest.Claim("slug", "hers", coretest.User2)) // also if it seems to be over
			f.Clock.Advance(dibs.DefaultTTL)
			f.Refused(dibs.ErrAlreadyExpired, dibs.Confirm{ID: dibs.NameID("slug", "first"), Token: coretest.Token1, Entity: coretest.User1})
			f.Must(coretest.Claim("slug", "hers", coretest.User2)) // also if it seems to last
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		f, _, s := newGuessing(t, nil)
		s.lost = true
		s.loads, s.commits = 0, 0
		f.Must(coretest.Reserve("slug", "x", coretest.Token1))
		s.took(t, "an engine without an estimate", 1, 1)
	})
}

// A name is purged by another process, which raises the floor that this registry
// remembers.
func TestGuessedFloorIsRaised(t *testing.T) {
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

// A name that this registry has purged itself is known to be fresh.
func TestGuessedFreshAfterAPurge(t *testing.T) {
	t.Parallel()
	f, _, s := newGuessing(t, nil)
	f.Must(dibs.Release{ID: dibs.NameID("slug", "first"), Token: coretest.Token1})
	f.Clock.Advance(dibs.DefaultHoldHistory)
	f.SweepAll()
	s.loads, s.commits = 0, 0
	if n := f.One(coretest.Reserve("slug", "first", coretest.Token1)); n.Epoch != 2 {
		t.Errorf("the epoch is %d, want 2", n.Epoch)
	}
	s.took(t, "a purged name", 0, 1)
}

// The candidate that the token holds comes first, whoever reserved it.
func TestGuessesLeaveCandidatesAlone(t *testing.T) {
	t.Parallel()
	f, other, _ := newGuessing(t, nil)
	other.Must(coretest.Reserve("slug", "b", coretest.Token1))
	result := f.Replayed(firstOf("slug", "a", "b"))
	if result.Names[0].Canonical != "b" {
		t.Errorf("got %s, the token holds b", result.Names[0].Canonical)
	}
}
