package memstore

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/calldibs/dibs"
)

// Dates come in order, each record once, however often dates were set and removed.
func TestDates(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	d := dates{of: make(map[key]dibs.Instant)}
	for range 20_000 {
		k := key{dibs.KindName, dibs.ID{byte(random.IntN(100))}}
		d.set(k, dibs.Instant(random.IntN(20))) // 0 in one of 20 times
		if random.IntN(10) > 0 {
			continue
		}
		until, limit := dibs.Instant(random.IntN(20)), 1+random.IntN(100)
		want := slices.Collect(maps.Keys(d.of))
		want = slices.DeleteFunc(want, func(k key) bool { return d.of[k] > until })
		slices.SortFunc(want, func(a, b key) int {
			if d.of[a] != d.of[b] {
				return int(d.of[a] - d.of[b])
			}
			return slices.Compare(a.id[:], b.id[:])
		})
		want = want[:min(limit, len(want))]
		if got := d.until(until, limit); !slices.Equal(got, want) {
			t.Fatalf("until %d, at most %d: %v, want %v", until, limit, got, want)
		}
	}
	if len(d.queue) > 2*len(d.of)+1000 {
		t.Errorf("%d entries for %d dates", len(d.queue), len(d.of))
	}
}
