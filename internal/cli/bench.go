package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/workload"
)

// benchCommand measures a store or a server, as pgbench does for a database.
func (s *session) benchCommand() *cobra.Command {
	cfg := workload.Config{Progress: s.benchProgress}
	run := s.command(verb{
		name: "bench", args: []string{"[MIX]"}, group: groupOperate,
		short: "Measure how many calls a store or a server takes, and how long each lasts",
		long: `MIX is a kind of call, or several with their shares: reserve=1,resolve=20. Kinds of calls:

  reserve    a hold on a new name; the default
  lifecycle  reserve, confirm and decommission a new name, measured together
  stampede   all callers reserve the same name: one wins, and they race for the next
  resolve    a name of the load
  check      a name of the load, or one that is free
  rename     an entity of each caller gets a new name

resolve and check need names: run "dibs bench load N" first, and pass --names N.

It writes to the store. Use an empty one, or a namespace of its own: holds end after a
minute, but loaded names, and the history of all names, stay.`,
		example: `
dibs bench --store sqlite:/tmp/bench.db
dibs bench load 1000000 --store sqlite:/tmp/bench.db
dibs bench reserve=1,resolve=20 --names 1000000 --callers 256 --for 30s --store sqlite:/tmp/bench.db
dibs bench stampede --server http://localhost:8080 --json`,
		before: func(args []string) (err error) {
			cfg.Mix, err = workload.ParseMix(strings.Join(append(args, "reserve")[:1], ""))
			return err
		},
		do: func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
			report, err := workload.Run(ctx, registry, cfg)
			if err != nil {
				return nil, err
			}
			return &answer{report, func(p *printer) { p.benchReport(report) }}, nil
		},
	})
	run.Flags().DurationVar(&cfg.For, "for", 10*time.Second, "how `long`")
	run.Flags().IntVar(&cfg.Names, "names", 0, "how `many` names were loaded")
	run.PersistentFlags().IntVar(&cfg.Callers, "callers", 64, "how `many` callers at once")
	run.PersistentFlags().StringVar(&cfg.Namespace, "namespace", "bench.slug", "the `namespace` of all names")

	var count int
	load := s.command(verb{
		name: "load", args: []string{"COUNT"},
		short: "Claim names for resolve and check to use",
		long:  `A load that was interrupted can be begun again: names that are there stay.`,
		example: `
dibs bench load 1000000 --callers 256 --store sqlite:/tmp/bench.db`,
		before: func(args []string) (err error) {
			if count, err = strconv.Atoi(args[0]); err != nil || count < 1 {
				return fmt.Errorf("%q is not a number of names", args[0])
			}
			return nil
		},
		do: func(ctx context.Context, registry *dibs.Registry, _ []string) (*answer, error) {
			start := time.Now()
			if err := workload.Load(ctx, registry, cfg, count); err != nil {
				return nil, err
			}
			took := time.Since(start)
			document := struct {
				Names   int     `json:"names"`
				Seconds float64 `json:"seconds"`
			}{count, took.Seconds()}
			return &answer{document, func(p *printer) {
				p.line("%s names are there, after %v", thousands(count), took.Round(time.Millisecond))
			}}, nil
		},
	})
	run.AddCommand(load)
	return run
}

// benchProgress writes a line on the error output, which --json leaves alone.
func (s *session) benchProgress(p workload.Progress) {
	text := fmt.Sprintf("%4.0fs  %9s/s  p50 %-8s  p99 %-8s", p.Elapsed.Seconds(),
		thousands(int(float64(p.Done)/p.Took.Seconds())), latency(p.P50), latency(p.P99))
	if p.Failed > 0 {
		text += "  " + thousands(p.Failed) + " failed"
	}
	fmt.Fprintln(s.Stderr, strings.TrimSpace(text))
}

func (p *printer) benchReport(r workload.Report) {
	p.line("%s by %s for %.1f s", r.Mix, count(r.Callers, "caller", "callers"), r.Seconds)
	p.line("")
	rows := make([][]string, len(r.Calls))
	for i, c := range r.Calls {
		at := func(millis float64) string { return latency(time.Duration(millis * float64(time.Millisecond))) }
		l := c.Latency
		rows[i] = []string{
			string(c.Call), thousands(c.Count), thousands(int(c.PerSecond)) + "/s",
			at(l.P50), at(l.P90), at(l.P99), at(l.P999), at(l.Max), codes(c.Refused), codes(c.Errors),
		}
	}
	p.table([]string{"call", "count", "rate", "p50", "p90", "p99", "p99.9", "max", "refused", "failed"}, rows)
	for _, c := range r.Calls {
		if len(c.Histogram) > 0 {
			p.line("")
			p.histogram(c)
		}
	}
	if r.ProcessorMicros > 0 {
		p.line("")
		p.line("This process used %.1f µs of processor time for each call.", r.ProcessorMicros)
	}
}

// histogram prints a bar for each range of latencies.
func (p *printer) histogram(c workload.Result) {
	const width = 40
	most := slices.MaxFunc(c.Histogram, func(a, b workload.Bar) int { return a.Count - b.Count }).Count
	rows := make([][]string, len(c.Histogram))
	for i, bar := range c.Histogram {
		rows[i] = []string{
			"≤ " + latency(time.Duration(bar.UpTo*float64(time.Millisecond))),
			fmt.Sprintf("%5.1f %%", 100*float64(bar.Count)/float64(c.Count)),
			strings.Repeat("█", (bar.Count*width+most-1)/most),
		}
	}
	p.table([]string{string(c.Call), "calls", ""}, rows)
}

// codes formats how often each code came: "NAME_TAKEN 12".
func codes(counts map[string]int) string {
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, code+" "+thousands(counts[code]))
	}
	return strings.Join(parts, ", ")
}

// thousands formats a number with separators: 26,900.
func thousands(n int) string { return message.NewPrinter(language.English).Sprint(n) }

// latency formats a duration with two or three digits: 87µs, 1.25ms, 2.1s.
func latency(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
