package bench

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/figures"
)

func TestMet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		row  row
		want bool
	}{
		{"faster", row{ours: figuresOf(10, 11, 9), peer: figuresOf(2, 2, 2), want: atLeast(5)}, true},
		{"not fast enough", row{ours: figuresOf(9), peer: figuresOf(2), want: atLeast(5)}, false},
		{"as slow as allowed", row{ours: figuresOf(3), peer: figuresOf(2), want: atMost(1.5)}, true},
		{"too slow", row{ours: figuresOf(4), peer: figuresOf(2), want: atMost(1.5)}, false},
		{"the medians count", row{ours: figuresOf(10, 1, 10), peer: figuresOf(2, 90, 2), want: atLeast(5)}, true},
		{"no peer", row{ours: figuresOf(801), want: atMost(800)}, false},
		{"no target", row{ours: figuresOf(801)}, true},
		{"nothing measured of the peer", row{ours: figuresOf(1), peer: figuresOf(0), want: atMost(4)}, false},
	} {
		if got := c.row.met(); got != c.want {
			t.Errorf("%s: met %v, want %v", c.name, got, c.want)
		}
	}
}

var exampleRows = []row{
	{
		goal: "S1", what: "reserve", unit: figures.PerSecond, want: atLeast(5),
		ours:    series{sample{40_000, 50_000, 45_000}, sample{45, 50, 48}},
		against: peer{"bare", "no history"}, peer: series{sample{9000, 10_000, 9000}, sample{120, 130, 110}},
	},
	{
		goal: "S5", what: "alone", unit: figures.Seconds, want: atMost(1.3),
		ours: series{sample{0.001}, sample{9.87}}, against: peer{"bare", "no history"}, peer: figuresOf(0.002),
	},
	{goal: "G3", what: "size", unit: figures.Bytes, ours: figuresOf(790), want: atMost(800)},
	{goal: "G3", what: "rewritten", unit: figures.Bytes, ours: figuresOf(700)},
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := printTable(&out, exampleRows); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
    what       ours (min–max)                processor  against  peer (min–max)              processor  ratio  goal     met
S1  reserve    45,000/s (40,000/s–50,000/s)  48 µs      bare     9,000/s (9,000/s–10,000/s)  120 µs     5.00×  ≥ 5×     yes
S5  alone      1ms                           9.9 µs     bare     2ms                                    0.50×  ≤ 1.3×   yes
G3  size       790 B                                                                                           ≤ 800 B  yes
G3  rewritten  700 B                                                                                                    –

What a user gives up with a peer:
  bare  no history
`, "\n")
	if got := out.String(); got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}

func TestRowSaysWhatIsWanted(t *testing.T) {
	t.Parallel()
	for i, want := range []string{
		"S1 reserve; peer: bare: 5.00×, want ≥ 5×", "S5 alone; peer: bare: 0.50×, want ≤ 1.3×", "G3 size: 790 B, want ≤ 800 B", "G3 rewritten: 700 B",
	} {
		if got := exampleRows[i].String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestResultsAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bench", "results.json")
	if err := newResults("15.4", 3, 2*time.Second, exampleRows).Write(path); err != nil {
		t.Fatal(err)
	}
	kept, err := figures.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if kept.Rounds != 3 || kept.Seconds != 2 || kept.PostgreSQL != "15.4" || len(kept.Results) != len(exampleRows) {
		t.Errorf("kept: %+v", kept)
	}
	first, last := kept.Results[0], kept.Results[3]
	if first.Goal != "S1" || first.Ours.Median != 45_000 || *first.Ratio != 5 || !*first.Met || first.Target != "≥ 5×" ||
		first.Ours.ProcessorMicros != 48 || first.Peer.ProcessorMicros != 120 || first.Lacks != "no history" {
		t.Errorf("the first is %+v", first)
	}
	if last.Peer != nil || last.Ratio != nil || last.Met != nil || last.Target != "" {
		t.Errorf("a figure without a peer or a goal is %+v", last)
	}
}
