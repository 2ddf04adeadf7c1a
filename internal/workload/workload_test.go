package workload_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/workload"
	"github.com/calldibs/dibs/memstore"
)

const namespace = "bench.slug"

func registry(t *testing.T) *dibs.Registry {
	t.Helper()
	reg, err := embedded.Open(memstore.New(memstore.Config{}), dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	return reg
}

func TestEveryCallIsMade(t *testing.T) {
	t.Parallel()
	reg := registry(t)
	const names = 50
	cfg := workload.Config{Namespace: namespace, Callers: 4, Names: names}
	for range 2 { // a second load changes nothing
		if err := workload.Load(t.Context(), reg, cfg, names); err != nil {
			t.Fatal(err)
		}
	}
	hasNames(t, reg, names)
	if err := workload.LoadMore(t.Context(), reg, cfg, names, names+10); err != nil {
		t.Fatal(err)
	}
	hasNames(t, reg, names+10)
	for _, op := range workload.AllOps {
		t.Run(string(op), func(t *testing.T) {
			cfg := cfg
			cfg.Mix, cfg.For = workload.Mix{op: 1}, 50*time.Millisecond
			report := runUntil(t, cfg, func() *dibs.Registry { return reg }, func(r workload.Report) bool { return len(r.Calls) > 0 })
			if len(report.Calls) != 1 {
				t.Fatalf("%+v", report)
			}
			result := report.Calls[0]
			if result.Call != op || result.Count == 0 || result.PerSecond <= 0 || len(result.Errors) > 0 {
				t.Errorf("%+v", result)
			}
			if refused := len(result.Refused) > 0; refused && op != workload.Stampede {
				t.Errorf("refused: %v", result.Refused)
			}
			inBars := 0
			for _, bar := range result.Histogram {
				inBars += bar.Count
			}
			if l := result.Latency; inBars != result.Count || l.Min > l.P50 || l.P50 > l.P90 || l.P90 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max {
				t.Errorf("%d of %d calls are in bars: %+v", inBars, result.Count, l)
			}
		})
	}
}

// runUntil runs for longer and longer until something has happened, because the machine may be busy.
func runUntil(t *testing.T, cfg workload.Config, open func() *dibs.Registry, happened func(workload.Report) bool) workload.Report {
	t.Helper()
	for ; ; cfg.For *= 2 {
		report, err := workload.Run(t.Context(), open(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if happened(report) {
			return report
		}
		if cfg.For > time.Minute {
			t.Fatalf("nothing has happened in %v: %+v", cfg.For, report)
		}
	}
}

func hasNames(t *testing.T, reg *dibs.Registry, want int) {
	t.Helper()
	stats, err := reg.Stats(t.Context())
	if err != nil || len(stats.Names) != 1 || stats.Names[0].Count != want {
		t.Fatalf("%+v, %v: want %d active names", stats, err, want)
	}
}

// In a stampede one caller wins each name, and the others are refused.
func TestStampedeHasOneWinnerEach(t *testing.T) {
	t.Parallel()
	var reg *dibs.Registry
	report := runUntil(t, workload.Config{
		Namespace: namespace, Callers: 8, For: 50 * time.Millisecond, Mix: workload.Mix{workload.Stampede: 1},
	}, func() *dibs.Registry {
		reg = registry(t)
		return reg
	}, func(r workload.Report) bool { return len(r.Calls) > 0 })
	stats, err := reg.Stats(t.Context())
	if err != nil || len(stats.Names) != 1 {
		t.Fatalf("%+v, %v", stats, err)
	}
	won := report.Calls[0].Count - report.Calls[0].Refused[string(dibs.CodeNameTaken)]
	// A call that the end of the run interrupted may have won too.
	if held := stats.Names[0].Count; won > held || held > won+8 {
		t.Errorf("%d calls won, and %d names are held", won, held)
	}
}

func TestErrorsAreCounted(t *testing.T) {
	t.Parallel()
	reg := registry(t)
	if err := reg.Close(); err != nil {
		t.Fatal(err)
	}
	var last workload.Progress
	report := runUntil(t, workload.Config{
		Namespace: namespace, Callers: 1, For: 1100 * time.Millisecond, Mix: workload.Mix{workload.Reserve: 1},
		Progress: func(p workload.Progress) { last = p },
	}, func() *dibs.Registry { return reg }, func(workload.Report) bool { return last.Failed > 0 })
	if report.Calls[0].Errors[string(dibs.CodeUnavailable)] == 0 || report.Calls[0].Count != 0 {
		t.Errorf("%+v", report)
	}
	if last.Elapsed < time.Second {
		t.Errorf("the progress is %+v", last)
	}
	if err := workload.Load(t.Context(), reg, workload.Config{Namespace: namespace, Callers: 1}, 10); err == nil {
		t.Error("a load into a closed registry succeeds")
	}
}

func TestRefusedConfigs(t *testing.T) {
	t.Parallel()
	good := workload.Config{Namespace: namespace, Callers: 1, For: time.Millisecond, Mix: workload.Mix{workload.Reserve: 1}}
	for want, change := range map[string]func(*workload.Config){
		"at least one caller": func(c *workload.Config) { c.Callers = 0 },
		"must be positive":    func(c *workload.Config) { c.For = 0 },
		"no calls":            func(c *workload.Config) { c.Mix = nil },
		"how many there are":  func(c *workload.Config) { c.Mix = workload.Mix{workload.Check: 1} },
	} {
		cfg := good
		change(&cfg)
		if _, err := workload.Run(context.Background(), nil, cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestParseMix(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"reserve":                "reserve",
		"resolve=20, reserve=1":  "reserve=1,resolve=20",
		"rename,rename,check=0":  "rename",
		"stampede=3,lifecycle":   "lifecycle=1,stampede=3",
		"reserv":                 `unknown call "reserv"`,
		"reserve=x":              `"x" is not a share`,
		"reserve=-1":             `"-1" is not a share`,
		"reserve=0":              "no calls",
		"":                       `unknown call ""`,
		"reserve=99999999999999": "is not a share",
	} {
		mix, err := workload.ParseMix(text)
		got := mix.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
