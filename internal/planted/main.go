// Command planted checks whether the tests would notice: it plants the bugs of bugs.toml, one at a
// time, and runs for each the one test that must find it. It fails if a test does not, and writes
// the list into docs/testing.md.
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
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"
)

func main() {
	list := flag.String("bugs", "internal/planted/bugs.toml", "the bugs")
	page := flag.String("page", "docs/testing.md", "the page that lists them")
	only := flag.String("only", "", "only bugs whose file, words or test contain this; the page is not written")
	procs := flag.Int("procs", 1, "how many bugs to try concurrently")
	timeout := flag.Duration("timeout", 3*time.Minute, "how long one test may take")
	table := flag.Bool("table", false, "only write the page")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	missed, err := plant(ctx, *list, *only, *procs, *timeout, *table)
	stop()
	if err == nil && missed == 0 && *only == "" {
		err = writePage(*page, *list)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "planted:", err)
		os.Exit(2)
	}
	if missed > 0 {
		os.Exit(1)
	}
}

// plant plants the bugs and returns how many were missed.
func plant(ctx context.Context, list, only string, procs int, timeout time.Duration, none bool) (missed int, err error) {
	bugs, err := readBugs(list)
	if err != nil || none {
		return 0, err
	}
	folder, err := os.MkdirTemp("", "planted")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	run := &runner{folder: folder, timeout: timeout}
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		queue = make(chan bug)
		tried int
		begin = time.Now()
	)
	for range procs {
		group.Go(func() {
			for b := range queue {
				start := time.Now()
				problem := run.check(ctx, b)
				mu.Lock()
				tried++
				if problem != nil {
					missed++
					fmt.Printf("MISSED %s\n", b)
					fmt.Printf("       %v\n", strings.ReplaceAll(problem.Error(), "\n", "\n       "))
				} else {
					fmt.Printf("found  %s (%.0f s)\n", b, time.Since(start).Seconds())
				}
				mu.Unlock()
			}
		})
	}
	for _, b := range bugs {
		if strings.Contains(b.File+"\n"+b.Bug+"\n"+b.Test, only) {
			queue <- b
		}
	}
	close(queue)
	group.Wait()
	fmt.Printf("%d bugs in %s: %d found, %d missed\n", tried, time.Since(begin).Round(time.Second), tried-missed, missed)
	return missed, ctx.Err()
}
