package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/cli"
)

func TestBench(t *testing.T) {
	t.Parallel()
	store := "sqlite:" + filepath.Join(t.TempDir(), "names.db")
	step := func(code int, args ...string) outcome {
		t.Helper()
		o := run(cli.Process{Args: append(args, "--store", store)})
		if o.code != code {
			t.Fatalf("%v: exit code %d, want %d\n%s%s", args, o.code, code, o.stdout, o.stderr)
		}
		return o
	}
	if o := step(0, "bench", "load", "1200"); !strings.Contains(o.stdout, "1,200 names are there") {
		t.Errorf("the load says %s", o.stdout)
	}
	// long runs a benchmark for longer on a machine that is too busy for the first time.
	long := func(enough string, args ...string) (o outcome) {
		t.Helper()
		for _, span := range []string{"100ms", "1200ms", "20s"} {
			if o = step(0, append(args, "--for", span)...); strings.Contains(o.stdout+o.stderr, enough) {
				break
			}
		}
		return o
	}
	short := long("RESERVE", "bench", "reserve,resolve=4", "--names", "1200", "--callers", "8")
	for _, want := range []string{"reserve=1,resolve=4 by 8 callers", "RESERVE", "RESOLVE", "P99.9", "processor time"} {
		if !strings.Contains(short.stdout, want) {
			t.Errorf("the report lacks %q:\n%s", want, short.stdout)
		}
	}
	var report struct {
		Seconds float64
		Calls   []struct {
			Call          string
			Count         int
			Refused       map[string]int
			LatencyMillis struct{ P50, Max float64 }
		}
	}
	// The progress is on the error output: the answer is one document.
	o := long("/s  p50", "bench", "stampede", "--json")
	if err := json.Unmarshal([]byte(o.stdout), &report); err != nil {
		t.Fatalf("%v in %s", err, o.stdout)
	}
	if c := report.Calls; len(c) != 1 || c[0].Call != "stampede" || c[0].Refused["NAME_TAKEN"] == 0 || c[0].LatencyMillis.Max < c[0].LatencyMillis.P50 {
		t.Errorf("the report is %s", o.stdout)
	}
	if !strings.Contains(o.stderr, "/s  p50") {
		t.Errorf("the progress is %q", o.stderr)
	}
	for _, wrong := range [][]string{
		{"bench", "rezerve"},
		{"bench", "resolve"},
		{"bench", "--callers", "0"},
		{"bench", "--for", "-1s"},
		{"bench", "load", "many"},
		{"bench", "load"},
	} {
		if o := run(cli.Process{Args: append(wrong, "--store", store)}); o.code == 0 || o.stderr == "" {
			t.Errorf("%v: exit code %d, %q", wrong, o.code, o.stderr)
		}
	}
}
