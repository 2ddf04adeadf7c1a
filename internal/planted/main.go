// Command planted checks whether the tests would notice: it plants the bugs of bugs.toml, one at a
// time, and runs for each the one test that must find it. It fails if a test does not, and writes
// the list into docs/testing.md. A run of all bugs tells its figures, which make proof keeps.
//
//	go run ./internal/planted
//	go run ./internal/planted -only sqlitestore
//
// The files themselves are never changed: a build of Go sees the changed file through an overlay,
// and the clients in TypeScript and Python are tested in a copy.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/calldibs/dibs/internal/figures"
)

// The bugs, and the page that lists them.
const (
	list = "internal/planted/bugs.toml"
	page = "docs/testing.md"
)

// options say what to plant.
type options struct {
	list    string
	page    string
	out     io.Writer
	only    string
	procs   int
	timeout time.Duration
	table   bool
}

func main() {
	o := options{list: list, page: page, out: os.Stdout}
	flag.StringVar(&o.only, "only", "", "only bugs whose file, words or test contain this; the page is not written, and no figures are told")
	flag.IntVar(&o.procs, "procs", 1, "how many bugs to try concurrently")
	flag.DurationVar(&o.timeout, "timeout", 3*time.Minute, "how long one test may take")
	flag.BoolVar(&o.table, "table", false, "plant nothing, only write the page")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	missed, err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "planted:", err)
		os.Exit(2)
	}
	if missed > 0 {
		os.Exit(1)
	}
}

// run plants bugs, and returns how many were missed. It writes the page if all were found.
func run(ctx context.Context, o options) (missed int, err error) {
	bugs, err := readBugs(o.list)
	if err != nil {
		return 0, err
	}
	if !o.table {
		some := slices.DeleteFunc(slices.Clone(bugs), func(b bug) bool { return !strings.Contains(b.File+"\n"+b.Bug+"\n"+b.Test, o.only) })
		if len(some) == 0 {
			return 0, fmt.Errorf("no bug has %q in its file, words or test", o.only)
		}
		if missed, err = plant(ctx, some, o); err != nil || o.only != "" {
			return missed, err
		}
		fmt.Fprintf(o.out, "figure: bugs planted = %d\nfigure: bugs found = %d\n", len(bugs), len(bugs)-missed)
		if missed > 0 {
			return missed, nil
		}
	}
	return 0, figures.FillFile(o.page, part, table(bugs))
}

// plant plants the bugs, and returns how many were missed.
func plant(ctx context.Context, bugs []bug, o options) (missed int, err error) {
	folder, err := os.MkdirTemp("", "planted")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	runner := &runner{folder: folder, timeout: o.timeout}
	begin := time.Now()
	var mu sync.Mutex
	var tries errgroup.Group
	tries.SetLimit(o.procs)
	for _, b := range bugs {
		tries.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			start := time.Now()
			problem := runner.check(ctx, b)
			if ctx.Err() != nil { // the test may have failed because of it
				return ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			if problem == nil {
				fmt.Fprintf(o.out, "found  %s (%.0f s)\n", b, time.Since(start).Seconds())
				return nil
			}
			missed++
			fmt.Fprintf(o.out, "MISSED %s\n       %s\n", b, strings.ReplaceAll(problem.Error(), "\n", "\n       "))
			return nil
		})
	}
	if err := tries.Wait(); err != nil {
		return missed, err
	}
	fmt.Fprintf(o.out, "%d bugs in %s: %d found, %d missed\n", len(bugs), time.Since(begin).Round(time.Second), len(bugs)-missed, missed)
	return missed, nil
}
