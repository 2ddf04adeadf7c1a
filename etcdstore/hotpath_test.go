package etcdstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/calldibs/dibs"
)

// holds returns groups that reserve new names, as the rules make them.
func holds(n int) (groups []dibs.Group) {
	const now = 1_789_000_000_000
	for i := range n {
		canonical := fmt.Sprintf("name-%08x", uint32(i)*2654435761)
		name := &dibs.NameRecord{
			ID: dibs.NameID("slug", canonical), Rev: 1, Namespace: "slug", Canonical: canonical, Value: canonical, Profile: "exact/1",
			State: dibs.Held, Status: dibs.StatusReserved, Epoch: 1, CreatedAt: now, Token: dibs.TokenHash{1}, ExpiresAt: now + 900_000, Due: now + 900_000,
			Terms: dibs.Terms{HoldHistory: 24 * time.Hour},
		}
		groups = append(groups, dibs.Group{
			Reads:  []dibs.Read{{Ref: name.Ref()}},
			Writes: []dibs.Write{{Record: name, Was: dibs.Free}},
			Events: []dibs.Event{{
				Kind: dibs.EventReserved, At: now, ID: name.ID, Namespace: "slug", Canonical: canonical, Value: canonical, Rev: 1, Epoch: 1,
				Before: dibs.Snapshot{State: dibs.Free}, After: dibs.Snapshot{State: dibs.Held, Status: dibs.StatusReserved, Epoch: 1, Until: now + 900_000},
			}},
		})
	}
	return groups
}

// offline returns a store that has no cluster, and can only prepare commits of new records.
func offline() *Store {
	return &Store{keys: keys{"dibs/"}, footprints: newFootprints(), maxOps: 2048, clock: &clock{wall: time.Now}}
}

// prepareRequest does all work on a commit that needs no cluster.
func prepareRequest(tb testing.TB, s *Store, groups []dibs.Group) *transaction {
	tb.Helper()
	pending, err := s.prepare(context.Background(), groups)
	if err != nil {
		tb.Fatal(err)
	}
	batches := s.split(pending)
	if len(batches) != 1 {
		tb.Fatalf("%d transactions, want 1", len(batches))
	}
	return newTransaction(batches[0], s.clock.next(0), "marker")
}

// A reserve is two keys, and little work. Members pay for each key, and callers wait for both.
func TestCostOfAReserve(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector, pools lose what they have")
	}
	const (
		names           = 512
		mostBytes       = 380 // of the request
		mostAllocations = 34
	)
	s, groups := offline(), holds(names)
	request := s.request(prepareRequest(t, s, groups))
	keys := 0
	for _, op := range request.Success {
		if group := op.GetRequestTxn(); group != nil {
			keys += len(group.Success)
		} else {
			keys++
		}
	}
	if want := 2*names + ownOps + 1; keys != want {
		t.Errorf("%d keys for %d names, want %d", keys, names, want)
	}
	if bytes := proto.Size(request) / names; bytes > mostBytes {
		t.Errorf("%d bytes a name, more than %d", bytes, mostBytes)
	}
	allocations := testing.AllocsPerRun(10, func() { s.request(prepareRequest(t, s, groups)) }) / names
	t.Logf("%d bytes and %.1f allocations a name", proto.Size(request)/names, allocations)
	if allocations > mostAllocations {
		t.Errorf("%.1f allocations a name, more than %d", allocations, mostAllocations)
	}
}

func BenchmarkPrepare(b *testing.B) {
	s, groups := offline(), holds(512)
	b.ReportAllocs()
	for b.Loop() {
		t := prepareRequest(b, s, groups)
		s.request(t)
		s.committed(context.Background(), t, 1, func(int) bool { return true })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/512, "ns/name")
}
