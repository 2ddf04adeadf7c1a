//go:build unix

package bench

import (
	"flag"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/pgtest"
)

// floors are what a short run must reach, whatever else the machine does: far below
// what a long one measures, so that only a change for the worse by a factor of two or
// so is noticed, and that is.
var floors = map[string]target{
	"S1": atLeast(1),
	"S2": atLeast(1),
	"S5": atMost(5),
	"S6": atLeast(0.4),
}

var checkFloors = flag.Bool("floors", false, "check that no ratio is far below what it was")

// attempts are how often a goal may try: something else on the machine may take it
// away for a moment, hardly three times in a row.
const attempts = 3

// TestFloors is run by itself, by make test: beside the tests of other packages it would
// measure them. For the same reason the plain table has as few connections as we have:
// each is a process, and on a busy machine many of them would have the larger share.
func TestFloors(t *testing.T) {
	if !*checkFloors || testing.Short() || raceDetector {
		t.Skip("run it with -floors and nothing beside it, or by make floors")
	}
	l := &lab{TB: t, rounds: 3, length: 150 * time.Millisecond, hurry: true, crowd: 2000, pool: new(8)}
	l.connect(pgtest.Start(t, durable))
	for _, g := range goals {
		floor, ok := floors[g.id]
		if !ok {
			continue
		}
		t.Run(g.id, func(t *testing.T) {
			for attempt := 1; ; attempt++ {
				rows := g.run(l.in(t))
				t.Logf("attempt %d: %v", attempt, rows)
				below := underFloor(rows, floor)
				if len(below) == 0 {
					return
				}
				if attempt == attempts {
					t.Fatalf("worse than the floor of %s %v×, see make bench: %v", floor.sense, floor.value, below)
				}
			}
		})
	}
}

// underFloor returns the ratios that do not reach the floor, and the counts that do not
// reach their goal: those do not depend on the machine.
func underFloor(rows []row, floor target) (below []row) {
	for _, r := range rows {
		if len(r.peer) > 0 {
			r.want = floor
		}
		if !r.met() {
			below = append(below, r)
		}
	}
	return below
}

func TestFloorIsForRatios(t *testing.T) {
	t.Parallel()
	ratio := row{what: "ratio", ours: sample{3}, peer: sample{1}, want: atLeast(5)}
	count := row{what: "count", ours: sample{201}, want: atMost(200)}
	if below := underFloor([]row{ratio}, atLeast(2)); len(below) != 0 {
		t.Errorf("over the floor: %v", below)
	}
	if below := underFloor([]row{ratio, count}, atLeast(4)); len(below) != 2 {
		t.Errorf("under the floor: %v", below)
	}
}
