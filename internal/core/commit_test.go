package core_test

import (
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// A commit may come long after its decision. A hold that is over by then is none, and
// a name that came and was purged meanwhile has not been forgotten.
func TestCommitsThatComeLate(t *testing.T) {
	t.Parallel()
	t.Run("a hold that is over", func(t *testing.T) {
		t.Parallel()
		f, s := coretest.NewSpy(t, nil)
		s.OnCommit = s.BeforeFirst(func() { f.Clock.Advance(10 * time.Second) })
		n := f.One(dibs.Reserve{Namespace: "slug", Value: "x", TTL: dibs.For(5 * time.Second)})
		if want := f.Clock.Now().Add(5 * time.Second); !n.ExpiresAt.Equal(want) {
			t.Errorf("it ends at %v, want %v: it was answered when it was over", n.ExpiresAt, want)
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
			t.Errorf("the epoch is %d again", n.Epoch)
		}
	})
}
