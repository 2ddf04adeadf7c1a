package sqlitestore

import (
	"reflect"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

func TestBodiesRoundTrip(t *testing.T) {
	t.Parallel()
	named := eventOf(dibs.EventReserved, heldName("a"))
	owned := eventOf(dibs.EventClaimed, activeName("a", dibs.Entity{Type: "user", ID: "1"}))
	odd := named
	odd.Value, odd.Version, odd.CorrelationID = "A", 1<<63, "c\x00\xff"
	odd.Entity = dibs.Entity{Type: "other", ID: "2"}
	odd.Before = dibs.Snapshot{State: "unknown", Status: "lost", Epoch: 7, Until: odd.At.Add(-time.Hour)}
	odd.Meta = map[string]string{"": "", "k": "v", "K": "<&\""}
	about := dibs.Event{Kind: dibs.EventArchived, At: testNow, Scope: "acme", Entity: dibs.Entity{Type: "user", ID: "1"}, Version: 2}
	for _, want := range []dibs.Event{named, owned, odd, about, {}} {
		for _, hasRow := range []bool{false, true} {
			got := dibs.Event{Kind: want.Kind, At: want.At, ID: want.ID, Namespace: want.Namespace, Rev: want.Rev}
			if hasRow {
				got.Canonical = want.Canonical
			}
			if err := decodeBody(&got, encodeBody(&want, hasRow, 7, 3), 7, 3); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%v: got\n%+v\nwant\n%+v", err, got, want)
			}
		}
	}
	whole := encodeBody(&odd, false, 7, 3)
	if err := decodeBody(new(dibs.Event), whole[sealSize:len(whole)-1], 7, 3); err == nil {
		t.Error("a damaged body was decoded")
	}
}

// A usual body takes few bytes and one allocation.
func TestBodiesAreSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector, pools lose what they have")
	}
	e := eventOf(dibs.EventReserved, heldName("a"))
	e.Actor = ""
	if size := len(encodeBody(&e, true, 7, 3)); size > 20 {
		t.Errorf("%d bytes", size)
	}
	if allocs := testing.AllocsPerRun(100, func() { encodeBody(&e, true, 7, 3) }); allocs > 1 {
		t.Errorf("%v allocations", allocs)
	}
}

func FuzzBody(f *testing.F) {
	e := eventOf(dibs.EventReserved, heldName("a"))
	f.Add(encodeBody(&e, true, 7, 3))
	f.Fuzz(func(_ *testing.T, data []byte) { _ = decodeBody(new(dibs.Event), data, 7, 3) })
}
