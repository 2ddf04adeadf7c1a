package bench

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/calldibs/dibs/internal/figures"
)

// printTable prints a line for each row: what, ours and the peer, each with its processor time
// a call, ratio, goal, met or not. Below it stands what each peer lacks.
func printTable(out io.Writer, rows []row) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\twhat\tours (min–max)\tprocessor\tagainst\tpeer (min–max)\tprocessor\tratio\tgoal\tmet")
	for _, r := range rows {
		ratio, met := "", "–"
		if r.compared() {
			ratio = figures.Ratio(r.figure())
		}
		if r.want.sense != noTarget {
			met = map[bool]string{true: "yes", false: "no"}[r.met()]
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.goal, r.what,
			r.unit.Range(r.ours.figures), figures.Micros(r.ours.processor.Median()), r.against.is,
			r.unit.Range(r.peer.figures), figures.Micros(r.peer.processor.Median()), ratio, r.target(), met)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printPeers(out, rows)
}

func printPeers(out io.Writer, rows []row) error {
	told := make(map[peer]bool)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		if p := r.against; p.lacks != "" && !told[p] {
			if len(told) == 0 {
				fmt.Fprintln(table, "\nWhat a user gives up with a peer:")
			}
			told[p] = true
			fmt.Fprintf(table, "  %s\t%s\n", p.is, p.lacks)
		}
	}
	return table.Flush()
}

// printCurves prints a line for each point.
func printCurves(out io.Writer, curves []figures.Curve) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range curves {
		fmt.Fprintf(table, "\n%s\t%s\tprocessor\n", c.X, c.Y)
		for _, line := range c.Lines {
			for _, p := range line.Points {
				fmt.Fprintf(table, "%s, %s\t%s\t%s\n", line.Name, figures.Thousands(p.X), figures.Thousands(p.Y), figures.Micros(p.ProcessorMicros))
			}
		}
	}
	return table.Flush()
}
