//go:build unix

package bench

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/figures"
	"github.com/calldibs/dibs/internal/pgtest"
)

var (
	measureGoals = flag.Bool("goals", false, "measure the goals; takes minutes")
	only         = flag.String("only", "", "the goals and curves to measure, such as S1,S5,callers; all if empty. The results file is only written for all")
	roundCount   = flag.Int("rounds", 3, "how many rounds each side is measured")
	roundSeconds = flag.Float64("seconds", 3, "how long a round is measured")
	poolSize     = flag.Int("pool", 0, "connections of the pools of peers; 0 finds the best")
	nameCount    = flag.Int("names", 100_000, "names of which the size is measured")
	lapsedCount  = flag.Int("lapsed", 50_000, "lapsed holds to be swept")
	importCount  = flag.Int("imports", 100_000, "names to be imported")
	profileDir   = flag.String("profile", "", "folder for CPU profiles of our side; also prints PostgreSQL's top statements")
	merge        = flag.Bool("merge", false, "put the results of some goals and curves into the results file, in place of theirs")
	resultsFile  = flag.String("results", "../../bench/results.json", "the file for the results of all goals; empty for none")
)

// TestGoals measures the goals and prints them; it does not fail if one is not met.
// TestBaselines fails if one gets much worse.
func TestGoals(t *testing.T) {
	if !*measureGoals {
		t.Skip("run it with -goals, or by make bench")
	}
	l := &lab{
		TB: t, rounds: *roundCount, length: time.Duration(*roundSeconds * float64(time.Second)),
		callers: 10_000, names: *nameCount, lapsed: *lapsedCount, imports: *importCount, pools: poolsOf(*poolSize),
	}
	if *profileDir != "" {
		l.profile = &profile{dir: *profileDir}
	}
	chosen, drawn := choose(t, *only)
	l.startCluster()
	others := l.watchMachine()
	var rows []row
	for _, g := range chosen {
		t.Run(g.id, func(t *testing.T) {
			inner := l.in(t)
			inner.startProfile()
			measured := g.run(inner)
			for _, r := range measured {
				t.Log(r)
			}
			inner.printStatements(os.Stdout)
			rows = append(rows, measured...)
		})
	}
	var traced []figures.Curve
	for _, c := range drawn {
		t.Run(c.id, func(t *testing.T) { traced = append(traced, c.measure(l.in(t))) })
	}
	fmt.Println()
	l.must(printTable(os.Stdout, rows))
	l.must(printCurves(os.Stdout, traced))
	if t.Failed() || *only != "" && !*merge || *resultsFile == "" {
		return
	}
	results := newResults(l.version(), l.rounds, l.length, rows)
	results.Curves, results.Others = traced, others()
	if *merge {
		all, err := figures.Read(*resultsFile)
		l.must(err)
		all.Merge(results)
		results = all
	}
	l.must(results.Write(*resultsFile))
}

// choose returns the goals and curves of a list of ids; all if it is empty.
func choose(t *testing.T, ids string) (chosen []goal, drawn []curve) {
	t.Helper()
	if ids == "" {
		return goals, curves
	}
	for id := range strings.SplitSeq(ids, ",") {
		g := slices.IndexFunc(goals, func(g goal) bool { return g.id == id })
		c := slices.IndexFunc(curves, func(c curve) bool { return c.id == id })
		switch {
		case g >= 0:
			chosen = append(chosen, goals[g])
		case c >= 0:
			drawn = append(drawn, curves[c])
		default:
			t.Fatalf("there is no goal or curve %q", id)
		}
	}
	return chosen, drawn
}

// Each goal is measured briefly, on real engines, to keep the code working. The short form has those in which most
// callers share something.
func TestEveryGoalCanBeMeasured(t *testing.T) {
	t.Parallel()
	goals, curves := goals, curves
	if testing.Short() {
		goals, curves = slices.DeleteFunc(slices.Clone(goals), func(g goal) bool { return !slices.Contains([]string{"S4", "S6", "S8", "S10"}, g.id) }), nil
	}
	l := &lab{TB: t, rounds: 1, length: 50 * time.Millisecond, short: true, callers: 300, names: 300, lapsed: 300, imports: 300, ends: true, pools: poolsOf(16), program: os.Args[0]}
	l.connect(pgtest.Start(t, pgtest.Options{}))
	t.Run("in parallel", func(t *testing.T) {
		for _, g := range goals {
			t.Run(g.id, func(t *testing.T) {
				t.Parallel()
				for _, r := range g.run(l.in(t)) {
					if figure := r.figure(); !(figure > 0) {
						t.Errorf("%v: the figure is %v", r, figure)
					}
				}
			})
		}
		for _, c := range curves {
			t.Run(c.id, func(t *testing.T) {
				t.Parallel()
				for _, line := range c.measure(l.in(t)).Lines {
					for _, p := range line.Points {
						if !(p.Y > 0) || p.ProcessorMicros == 0 { // processes of other goals may end meanwhile, and take theirs with them
							t.Errorf("%s at %v: %+v", line.Name, p.X, p)
						}
					}
				}
			})
		}
		t.Run("pool", func(t *testing.T) {
			t.Parallel()
			if best := l.in(t).findBestPool(bareTable, openPlain); !slices.Contains(poolSizes, best) {
				t.Errorf("the best pool has %d connections, of %v", best, poolSizes)
			}
		})
	})
}
