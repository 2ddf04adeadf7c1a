package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/calldibs/dibs/internal/figures"
)

// partsOf returns the generated parts of pages by their names. A figure that a page shows and no run has measured is an error:
// it was renamed, or its goal was left out.
func partsOf(speed, growth figures.Run, proof figures.Proof) (parts map[string]string, failed error) {
	must := func(text string, err error) string {
		failed = errors.Join(failed, err)
		return text
	}
	parts = map[string]string{
		"speed":   must(summary(speed)),
		"short":   must(shortTable(speed.Results, planning)),
		"many":    must(shortTable(growth.Results, planningMany)),
		"machine": machine(speed),
		"goals":   goalTable(speed.Results),
		"peers":   peerTable(speed.Results),
		"callers": must(curveTable(speed, "callers")),
		"latency": must(curveTable(speed, "latency")),
		"size":    machine(growth),
		"growth":  goalTable(growth.Results),
		"names":   must(curveTable(growth, "names")),
		"model":   must(modelTable(speed)),
		"plan":    must(planTable(speed, growth)),
		"bytes":   must(bytesTable(speed, growth)),
		"costs":   must(costTable(speed, growth)),
		"proof":   proofTable(proof),
		"faults":  faultTable(proof),
		"fuzzing": fuzzTable(proof),
	}
	return parts, failed
}

// table is a table of a page.
type table struct{ strings.Builder }

func (t *table) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	fmt.Fprintf(t, "| %s |\n", strings.Join(cells, " | "))
}

func (t *table) head(cells ...string) {
	t.row(cells...)
	fmt.Fprintf(t, "%s|\n", strings.Repeat("|---", len(cells)))
}

// littleElse is the share of the processors that other programs may use in a run whose rates
// mean something.
const littleElse = 0.05

// machine says where and how a run was measured.
func machine(r figures.Run) string {
	text := fmt.Sprintf("Measured on %s with %s and PostgreSQL %s, on a virtual machine whose %d cores are shared by program, engine and load: medians of %d interleaved rounds of %v s",
		r.Date, r.Go, r.PostgreSQL, r.Cores, r.Rounds, r.Seconds)
	if r.Names > 0 {
		text += fmt.Sprintf(", at %s names", figures.Thousands(float64(r.Names)))
	}
	if r.Others > littleElse {
		text += fmt.Sprintf(". Other programs used %.0f %% of the processors meanwhile: compare processor times, not rates", 100*r.Others)
	}
	return text + ".\n"
}

// goalTable has a line for each figure.
func goalTable(results []figures.Result) string {
	t := new(table)
	t.head("", "what", "Dibs", "processor a call", "beside it", "", "processor a call", "ratio", "goal", "")
	for _, r := range results {
		var peer, processor, ratio, met string
		if r.Peer != nil {
			peer, processor = r.Unit.Format(r.Peer.Median), figures.Micros(r.Peer.ProcessorMicros)
			ratio = figures.Ratio(*r.Ratio)
		}
		if r.Met != nil {
			met = map[bool]string{true: "reached", false: "not reached"}[*r.Met]
		}
		t.row(r.Goal, r.What, r.Unit.Format(r.Ours.Median), figures.Micros(r.Ours.ProcessorMicros), r.Against, peer, processor, ratio, r.Target, met)
	}
	return t.String()
}

// peerTable says what a user gives up with each peer.
func peerTable(results []figures.Result) string {
	t, told := new(table), make(map[string]bool)
	t.head("peer", "what you give up with it")
	for _, r := range results {
		if r.Lacks != "" && !told[r.Against] {
			told[r.Against] = true
			t.row(r.Against, r.Lacks)
		}
	}
	return t.String()
}

// curveTable has the points of a curve, for readers who want numbers.
func curveTable(r figures.Run, id string) (string, error) {
	c := r.Curve(id)
	if len(c.Lines) == 0 {
		return "", fmt.Errorf("no run measured the curve %q", id)
	}
	t := new(table)
	head := []string{c.X}
	for _, line := range c.Lines {
		head = append(head, line.Name)
	}
	t.head(head...)
	for _, x := range valuesOfX(c) {
		cells := []string{figures.Thousands(x)}
		for _, line := range c.Lines {
			cell := ""
			if p, ok := line.At(x); ok {
				cell = figures.PerSecond.Format(p.Y)
				if p.ProcessorMicros > 0 {
					cell += ", " + figures.Micros(p.ProcessorMicros)
				}
			}
			cells = append(cells, cell)
		}
		t.row(cells...)
	}
	return t.String(), nil
}

// summary is the paragraph on speed in README.md, with what is slower, too.
func summary(r figures.Run) (string, error) {
	many, lone := make(map[string]figures.Result), []float64(nil)
	for _, result := range r.Results {
		switch {
		case result.Ratio == nil:
		case result.Goal == "S1":
			many[result.Against] = result
		case result.Goal == "S5" && result.Against == "bare statement":
			lone = append(lone, *result.Ratio)
		}
	}
	bare, one, hand := many["bare statement"], many["same work in one statement"], many["same work by hand"]
	if bare.Ratio == nil || one.Ratio == nil || hand.Ratio == nil || len(lone) == 0 {
		return "", errors.New("no run measured S1 beside all of its peers, and S5 beside a bare statement")
	}
	return fmt.Sprintf(`- **Fast**: callers share commits. In the last run of `+"`make bench`"+`, 256 callers reserved %s names a second on PostgreSQL, each with its
  history and synced to disk, on %d cores for program and database together: %.1f times as many as by one bare `+"`INSERT`"+` a name, %.1f times
  as many as by one statement that does the same work, %.1f times as by a transaction that does. A caller alone waits %.1f to %.1f times as long as
  for a bare `+"`INSERT`"+`. [More](docs/performance.md), and where the limit is.
`, figures.Thousands(bare.Ours.Median), r.Cores, *bare.Ratio, *one.Ratio, *hand.Ratio, slices.Min(lone), slices.Max(lone)), nil
}
