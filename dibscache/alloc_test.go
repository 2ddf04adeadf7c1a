package dibscache_test

import (
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibscache"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/memstore"
)

// An answer from memory allocates nothing, and neither does the question.
func TestAnswersWithoutAllocation(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector, pools lose what they have")
	}
	registry, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cache, err := dibscache.New(registry, dibscache.Config{MaxStale: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cache.Close()
		_ = registry.Close()
	})
	if _, err := registry.Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "alice", Entity: user("1")}); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for name, ask := range map[string]func() bool{
		"resolve": func() bool {
			r, err := cache.Resolve(ctx, "slug", "alice")
			return err == nil && r.Outcome == dibs.ResolveActive
		},
		"check": func() bool {
			a, err := cache.Check(ctx, dibs.CheckRequest{Namespace: "slug", Values: []string{"alice"}})
			return err == nil && !a[0].Available
		},
	} {
		// The follower of the feed and the cache's own maintenance allocate beside the calls.
		if n := testing.AllocsPerRun(10_000, func() {
			if !ask() {
				t.Error("wrong answer")
			}
		}); n >= 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
