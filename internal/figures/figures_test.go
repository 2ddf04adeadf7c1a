package figures_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/figures"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rounds figures.Sample
		want   float64
	}{
		{nil, 0},
		{figures.Sample{7}, 7},
		{figures.Sample{3, 1, 2}, 2},
		{figures.Sample{1, 1000, 2}, 2}, // an outlier changes nothing
		{figures.Sample{4, 1, 3, 2}, 2.5},
	} {
		if got := c.rounds.Median(); got != c.want {
			t.Errorf("median of %v: %v, want %v", c.rounds, got, c.want)
		}
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{figures.PerSecond.Format(26_912.4), "26,912/s"},
		{figures.PerSecond.Format(912), "912/s"},
		{figures.Seconds.Format(0.0004123), "412µs"},
		{figures.Seconds.Format(1.23456), "1.23s"},
		{figures.Bytes.Format(1200), "1,200 B"},
		{figures.Transactions.Format(1_234_567), "1,234,567"},
		{figures.Thousands(-123_456), "-123,456"},
		{figures.Bytes.Range(nil), ""},
		{figures.Bytes.Range(figures.Sample{5}), "5 B"},
		{figures.PerSecond.Range(figures.Sample{3000, 1000, 2000}), "2,000/s (1,000/s–3,000/s)"},
		{figures.Share.Format(0.876), "0.88"},
		{figures.Megabytes.Format(145.7), "146 MB"},
		{figures.Micros(0), ""},
		{figures.Micros(1.234), "1.2 µs"},
		{figures.Micros(48.4), "48 µs"},
		{figures.Ratio(2.209), "2.21×"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestRunsAreKept(t *testing.T) {
	t.Parallel()
	run := figures.Run{Date: "2026-03-01", Results: []figures.Result{{Goal: "S1"}}, Curves: []figures.Curve{
		{ID: "callers", Lines: []figures.Line{{Name: "Dibs", Points: []figures.Point{{X: 1, Y: 2}}}}},
	}}
	path := filepath.Join(t.TempDir(), "bench", "results.json")
	if err := run.Write(path); err != nil {
		t.Fatal(err)
	}
	kept, err := figures.Read(path)
	if err != nil || !reflect.DeepEqual(kept, run) {
		t.Errorf("%+v, %v, want %+v", kept, err, run)
	}
	if _, err := figures.Read(path + "x"); err == nil {
		t.Error("a file that is not there can be read")
	}
	line := kept.Curve("callers").Line("Dibs")
	if p, ok := line.At(1); !ok || p.Y != 2 {
		t.Errorf("at 1 is %v, %v", p, ok)
	}
	if _, ok := line.At(3); ok || len(kept.Curve("x").Lines) > 0 || len(kept.Curve("callers").Line("x").Points) > 0 {
		t.Error("what was not measured has points")
	}
}

// Goals that were measured again replace their former results, and nothing is lost: neither other goals nor new ones.
func TestMergeRuns(t *testing.T) {
	t.Parallel()
	results := func(pairs ...string) (all []figures.Result) {
		for _, pair := range pairs {
			goal, what, _ := strings.Cut(pair, " ")
			all = append(all, figures.Result{Goal: goal, What: what})
		}
		return all
	}
	run := figures.Run{
		Date: "2026-03-01", Results: results("S1 a", "S1 b", "S2 c", "S3 d"),
		Curves: []figures.Curve{{ID: "callers", Title: "old"}, {ID: "latency"}},
	}
	run.Merge(figures.Run{Results: results("S4 e", "S1 f", "S1 g", "S1 h"), Curves: []figures.Curve{{ID: "names"}, {ID: "callers", Title: "new"}}})
	want := figures.Run{
		Date: "2026-03-01", Results: results("S1 f", "S1 g", "S1 h", "S2 c", "S3 d", "S4 e"),
		Curves: []figures.Curve{{ID: "callers", Title: "new"}, {ID: "latency"}, {ID: "names"}},
	}
	if !reflect.DeepEqual(run, want) {
		t.Errorf("%+v, want %+v", run, want)
	}
}
