// Command scale prints what a registry of a given size needs, by the model of docs/scale.md:
// package queueing, with the figures in bench/results.json and bench/growth.json. make scale runs it.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/calldibs/dibs/internal/figures"
	"github.com/calldibs/dibs/internal/queueing"
)

func main() {
	names := flag.Float64("names", 1e9, "how many names")
	rate := flag.Float64("rate", 100_000, "reservations a second")
	m := queueing.Usual
	flag.IntVar(&m.Cores, "cores", m.Cores, "of the machine of a part")
	flag.Float64Var(&m.Disk, "disk", m.Disk, "of that machine, in bytes")
	flag.Float64Var(&m.Log, "log", m.Log, "bytes a second that its log can take")
	flag.DurationVar(&m.Commit, "commit", m.Commit, "how long a commit takes, with a standby")
	flag.Parse()
	if err := run(os.Stdout, ".", queueing.Target{Names: *names, PerSecond: *rate}, m); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run prints the plan, and how well the model predicts what was measured.
func run(out io.Writer, root string, target queueing.Target, m queueing.Machine) error {
	speed, err := figures.Read(filepath.Join(root, "bench/results.json"))
	if err != nil {
		return err
	}
	growth, err := figures.Read(filepath.Join(root, "bench/growth.json"))
	if err != nil {
		return err
	}
	costs, err := queueing.CostsOf(speed, growth)
	if err != nil {
		return err
	}
	predictions, err := queueing.Predict(speed)
	if err != nil {
		return err
	}
	need := costs.Plan(target, m)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s names, %s reservations a second\n", figures.Thousands(target.Names), figures.Thousands(target.PerSecond))
	fmt.Fprintf(t, "a part commits\t%s\n", figures.PerSecond.Format(costs.PartRate(m)))
	fmt.Fprintf(t, "parts for the work\t%d\nparts for the log\t%d\nparts for the names\t%d\n", need.ByWork, need.ByLog, need.ByNames)
	fmt.Fprintf(t, "PostgreSQL, parts\t%d\netcd, clusters\t%d\n", need.Parts, need.Etcd)
	fmt.Fprintln(t, "\ndelay of a commit\tmeasured\tmodel")
	for _, p := range predictions {
		fmt.Fprintf(t, "%v\t%s\t%s\n", p.Delay.Round(time.Millisecond), figures.PerSecond.Format(p.Measured), figures.PerSecond.Format(p.Predicted))
	}
	return t.Flush()
}
