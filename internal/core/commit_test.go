package core_test

import (
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// A commit may follow its decision much later. A hold that would be over by then, or a name that was
// taken and purged meanwhile, is decided again.
func TestLateCommit(t *testing.T) {
	t.Parallel()
	t.Run("a hold that is over", func(t *testing.T) {
		t.Parallel()
		f, s := coretest.NewSpy(t, nil)
		s.OnCommit = s.BeforeFirst(func() { f.Clock.Advance(10 * time.Second) })
		n := f.One(dibs.Reserve{Namespace: "slug", Value: "x", TTL: dibs.For(5 * time.Second)})
		if want := f.Clock.Now().Add(5 * time.Second); !n.ExpiresAt.Equal(want) {
			t.Errorf("the hold ends at %v, want %v", n.ExpiresAt, want)
		}
	})
	t.Run("a name that was purged", func(t *testing.T) {
		t.Parallel()
		f, s := coretest.NewSpy(t, nil)
		other := f.Reopened(map[string]dibs.Policy{"slug": {HoldHistory: dibs.MinHoldHistory}})
		s.OnCommit = s.BeforeFirst(func() {
			other.Must(coretest.Reserve("slug", "x", coretest.Token2), dibs.Release{ID: dibs.NameID("slug", "x"), Token: coretest.Token2})
			f.Clock.Advance(dibs.MinHoldHistory)
			other.SweepAll()
		})
		if n := f.One(coretest.Reserve("slug", "x", coretest.Token1)); n.Epoch != 2 {
			t.Errorf("the epoch is %d, want 2", n.Epoch)
		}
	})
}
