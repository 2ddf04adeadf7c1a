//go:build unix

package bench

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/figures"
	"github.com/calldibs/dibs/internal/pgtest"
)

var (
	growthNames  = flag.Int("growth", 0, "measure the growth goals with so many names; ten million take an hour")
	growthFolder = flag.String("folder", "/tmp/dibs-growth", "where the names stay: a run that was stopped continues there")
	growthFile   = flag.String("growthfile", "../../bench/growth.json", "the file for the results of all growth goals; empty for none")
)

// TestGrowth measures the growth goals and prints them; it does not fail if one is not met.
func TestGrowth(t *testing.T) {
	if *growthNames == 0 {
		t.Skip("run it with -growth, or by make growth")
	}
	l := &lab{TB: t, rounds: *roundCount, length: time.Duration(*roundSeconds * float64(time.Second)), names: *growthNames, asks: 300}
	folder := filepath.Join(*growthFolder, fmt.Sprint(l.names))
	l.buildServer()
	run := l.measureGrowth(folder, durable, *only)
	if !t.Failed() && *only == "" && *growthFile != "" {
		l.must(run.Write(*growthFile))
	}
}

// measureGrowth fills the estates in a folder and measures the goals of a list; all if it is
// empty.
func (l *lab) measureGrowth(folder string, kept pgtest.Options, ids string) figures.Run {
	l.Helper()
	l.must(os.MkdirAll(folder, 0o755)) // PostgreSQL's user must get through
	folder, err := filepath.EvalSymlinks(folder)
	l.must(err)
	kept.Folder = filepath.Join(folder, "postgres")
	l.connect(pgtest.Start(l, kept))
	others := l.watchMachine()
	var (
		rows  []row
		loads = make(map[string]filled)
	)
	for _, e := range []*estate{postgresEstate(l, folder), sqliteEstate(l, folder)} {
		loads["Dibs on "+e.engine] = e.fill(l)
		for _, g := range growthGoals {
			if ids != "" && !slices.Contains(strings.Split(ids, ","), g.id) {
				continue
			}
			for _, r := range g.measure(l, e) {
				r.goal = g.id
				fmt.Println(r)
				rows = append(rows, r)
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return strings.Compare(a.goal, b.goal) })
	fmt.Println()
	l.must(printTable(os.Stdout, rows))
	results := newResults(l.version(), l.rounds, l.length, rows)
	results.Names, results.Others = l.names, others()
	results.Curves = []figures.Curve{rateByNames(l.names, loads, []string{figures.OnPostgres, figures.OnSQLite})}
	l.must(printCurves(os.Stdout, results.Curves))
	return results
}

// The growth goals are measured briefly, and again on the same names, to keep the code working.
func TestGrowthCanBeMeasured(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("measures one after the other, and processes")
	}
	folder, err := os.MkdirTemp("", "dibs-growth-") // PostgreSQL's user cannot reach the folders of tests
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, ids := range []string{"", "G3"} {
		t.Run("again", func(t *testing.T) {
			l := &lab{TB: t, rounds: 1, length: 50 * time.Millisecond, names: 1000, asks: 2, program: os.Args[0]}
			run := l.measureGrowth(folder, pgtest.Options{}, ids)
			for _, r := range run.Results {
				if r.Goal == "" || r.Unit != figures.Share && !(r.Ours.Median > 0) {
					t.Errorf("measured: %+v", r)
				}
			}
			if line := run.Curve("names").Line(figures.OnSQLite); len(line.Points) == 0 || run.Names != l.names {
				t.Errorf("the load is %+v", run.Curves)
			}
		})
	}
}

func TestMilestones(t *testing.T) {
	t.Parallel()
	for names, want := range map[int][]int{
		10_000_000: {100_000, 300_000, 1_000_000, 3_000_000, 10_000_000},
		200_000:    {3000, 10_000, 30_000, 100_000, 200_000},
		500:        {500},
	} {
		if got := milestones(names); !slices.Equal(got, want) {
			t.Errorf("%d names: %v, want %v", names, got, want)
		}
	}
}
