package bench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rounds sample
		want   float64
	}{
		{sample{7}, 7},
		{sample{3, 1, 2}, 2},
		{sample{1, 1000, 2}, 2}, // an outlier changes nothing
		{sample{4, 1, 3, 2}, 2.5},
	} {
		if got := c.rounds.median(); got != c.want {
			t.Errorf("median of %v: %v, want %v", c.rounds, got, c.want)
		}
	}
}

func TestMet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		row  row
		want bool
	}{
		{"faster", row{ours: sample{10, 11, 9}, peer: sample{2, 2, 2}, want: atLeast(5)}, true},
		{"not fast enough", row{ours: sample{9}, peer: sample{2}, want: atLeast(5)}, false},
		{"as slow as allowed", row{ours: sample{3}, peer: sample{2}, want: atMost(1.5)}, true},
		{"too slow", row{ours: sample{4}, peer: sample{2}, want: atMost(1.5)}, false},
		{"the medians count", row{ours: sample{10, 1, 10}, peer: sample{2, 90, 2}, want: atLeast(5)}, true},
		{"no peer", row{ours: sample{801}, want: atMost(800)}, false},
		{"no target", row{ours: sample{801}}, true},
		{"nothing measured of the peer", row{ours: sample{1}, peer: sample{0}, want: atMost(4)}, false},
	} {
		if got := c.row.met(); got != c.want {
			t.Errorf("%s: met %v, want %v", c.name, got, c.want)
		}
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{perSecond.format(26_912.4), "26,912/s"},
		{perSecond.format(912), "912/s"},
		{seconds.format(0.0004123), "412µs"},
		{seconds.format(1.23456), "1.23s"},
		{bytesOnDisk.format(1200), "1,200 B"},
		{transactions.format(1_234_567), "1,234,567"},
		{thousands(-123_456), "-123,456"},
		{formatSample(bytesOnDisk, nil), ""},
		{formatSample(bytesOnDisk, sample{5}), "5 B"},
		{formatSample(perSecond, sample{3000, 1000, 2000}), "2,000/s (1,000/s–3,000/s)"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

var exampleRows = []row{
	{goal: "S1", what: "reserve", unit: perSecond, ours: sample{40_000, 50_000, 45_000}, peer: sample{9000, 10_000, 9000}, want: atLeast(5)},
	{goal: "S5", what: "alone", unit: seconds, ours: sample{0.001}, peer: sample{0.002}, want: atMost(1.3)},
	{goal: "G3", what: "size", unit: bytesOnDisk, ours: sample{790}, want: atMost(800)},
	{goal: "G3", what: "rewritten", unit: bytesOnDisk, ours: sample{700}},
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := printTable(&out, exampleRows); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
    what       ours (min–max)                peer (min–max)              ratio  goal     met
S1  reserve    45,000/s (40,000/s–50,000/s)  9,000/s (9,000/s–10,000/s)  5.00×  ≥ 5×     yes
S5  alone      1ms                           2ms                         0.50×  ≤ 1.3×   yes
G3  size       790 B                                                            ≤ 800 B  yes
G3  rewritten  700 B                                                                     –
`, "\n")
	if got := out.String(); got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}

func TestRowSaysWhatIsWanted(t *testing.T) {
	t.Parallel()
	for i, want := range []string{
		"S1 reserve: 5.00×, want ≥ 5×", "S5 alone: 0.50×, want ≤ 1.3×", "G3 size: 790 B, want ≤ 800 B", "G3 rewritten: 700 B",
	} {
		if got := exampleRows[i].String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestResultsAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bench", "results.json")
	if err := newResults("15.4", 3, 2*time.Second, exampleRows).write(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var kept results
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	if kept.Rounds != 3 || kept.Seconds != 2 || kept.PostgreSQL != "15.4" || len(kept.Results) != len(exampleRows) {
		t.Errorf("kept: %s", text)
	}
	first, last := kept.Results[0], kept.Results[3]
	if first.Goal != "S1" || first.Ours.Median != 45_000 || *first.Ratio != 5 || !*first.Met || first.Target != "≥ 5×" {
		t.Errorf("the first is %+v", first)
	}
	if last.Peer != nil || last.Ratio != nil || last.Met != nil || last.Target != "" {
		t.Errorf("a figure without a peer or a goal is %+v", last)
	}
}
