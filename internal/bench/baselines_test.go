//go:build unix

package bench

import (
	"flag"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/pgtest"
)

// baselines are the ratios that a short run must reach on any machine: far below what a
// long run measures, so that only a slowdown by a factor of about two fails.
var baselines = map[string]target{
	"S1": atLeast(1),
	"S2": atLeast(1),
	"S5": atMost(5),
	"S6": atLeast(0.4),
}

// mostTransactions is the baseline of counts: a stampede that costs a transaction for each of
// its callers, or for each batch of few, fails.
var mostTransactions = atMost(20)

var checkBaselines = flag.Bool("baselines", false, "check that no ratio is far below its former value")

// attempts is how often a goal is measured: other load on the machine may disturb one
// attempt, but hardly three in a row.
const attempts = 3

// TestBaselines runs alone, by make test: otherwise it would measure the tests of other
// packages. For the same reason the plain table has as few connections as Dibs: each is a
// process, and on a busy machine many of them would get more processor time.
func TestBaselines(t *testing.T) {
	if !*checkBaselines || testing.Short() || raceDetector {
		t.Skip("run it alone with -baselines, or by make baselines")
	}
	l := &lab{TB: t, rounds: 3, length: 150 * time.Millisecond, short: true, callers: 2000, pools: poolsOf(8)}
	l.connect(pgtest.Start(t, durable))
	for _, g := range goals {
		baseline, ok := baselines[g.id]
		if !ok {
			continue
		}
		t.Run(g.id, func(t *testing.T) {
			for attempt := 1; ; attempt++ {
				rows := g.run(l.in(t))
				t.Logf("attempt %d: %v", attempt, rows)
				below := belowBaseline(rows, baseline)
				if len(below) == 0 {
					return
				}
				if attempt == attempts {
					t.Fatalf("worse than the baseline of %s %v×, see make bench: %v", baseline.sense, baseline.value, below)
				}
			}
		})
	}
}

// belowBaseline returns the ratios that do not reach the baseline, and the counts that are
// above theirs.
func belowBaseline(rows []row, baseline target) (below []row) {
	for _, r := range rows {
		r.want = mostTransactions
		if r.compared() {
			r.want = baseline
		}
		if !r.met() {
			below = append(below, r)
		}
	}
	return below
}

func TestBaselineIsForRatios(t *testing.T) {
	t.Parallel()
	ratio := row{what: "ratio", ours: figuresOf(3), peer: figuresOf(1), want: atLeast(5)}
	count := row{what: "count", ours: figuresOf(201), want: atMost(200)}
	if below := belowBaseline([]row{ratio}, atLeast(2)); len(below) != 0 {
		t.Errorf("above the baseline: %v", below)
	}
	if below := belowBaseline([]row{ratio, count}, atLeast(4)); len(below) != 2 {
		t.Errorf("below the baseline: %v", below)
	}
}
