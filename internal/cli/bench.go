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
	cmd := s.command("bench", func(ctx context.Context, args []string) (_ *answer, err error) {
		if cfg.Mix, err = workload.ParseMix(append(args, string(workload.Reserve))[0]); err != nil {
			return nil, usage("%w", err)
		}
		return s.withRegistry(ctx, func(registry *dibs.Registry) (*answer, error) {
			report, err := workload.Run(ctx, registry, cfg)
			if err != nil {
				return nil, err
			}
			return &answer{report, func(p *printer) { p.benchReport(report) }}, nil
		})
	})
	cmd.Flags().DurationVar(&cfg.For, "for", 10*time.Second, "how `long`")
	cmd.Flags().IntVar(&cfg.Names, "names", 0, "how `many` names were loaded")
	cmd.PersistentFlags().IntVar(&cfg.Callers, "callers", 64, "how `many` callers at once")
	cmd.PersistentFlags().StringVar(&cfg.Namespace, "namespace", "bench.slug", "the `namespace` of all names")
	cmd.AddCommand(s.benchLoad(&cfg))
	return cmd
}

func (s *session) benchLoad(cfg *workload.Config) *cobra.Command {
	return s.command("bench load", func(ctx context.Context, args []string) (*answer, error) {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 {
			return nil, usage("%q is not a number of names", args[0])
		}
		return s.withRegistry(ctx, func(registry *dibs.Registry) (*answer, error) {
			start := time.Now()
			if err := workload.Load(ctx, registry, *cfg, n); err != nil {
				return nil, err
			}
			took := time.Since(start)
			document := struct {
				Names   int     `json:"names"`
				Seconds float64 `json:"seconds"`
			}{n, took.Seconds()}
			return &answer{document, func(p *printer) {
				p.line("%s names are there, after %v", thousands(n), took.Round(time.Millisecond))
			}}, nil
		})
	})
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
