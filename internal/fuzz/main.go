// Command fuzz runs every fuzz target of the module for a while, and says what came of each:
//
//	go run ./internal/fuzz -time 10m
//	go run ./internal/fuzz -time 30s -only Cursor -keep 5
//
// With -keep it copies some of the inputs that reached new code to testdata/fuzz, where go test
// runs them from then on. With -page it writes the summary into a page.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"
)

func main() {
	each := flag.Duration("time", 30*time.Second, "how long each target runs")
	only := flag.String("only", "", "only targets whose package or name contains this")
	parallel := flag.Int("parallel", runtime.NumCPU(), "how many inputs to try at once")
	keep := flag.Int("keep", 0, "how many new inputs of each target to copy to testdata/fuzz")
	page := flag.String("page", "", "the page to write the summary into, such as docs/testing.md; not with -only")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok, err := run(ctx, *each, *only, *parallel, *keep, *page)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run fuzzes all targets, and goes on after one that fails.
func run(ctx context.Context, each time.Duration, only string, parallel, keep int, page string) (ok bool, err error) {
	targets, err := find(".")
	if err != nil {
		return false, err
	}
	var results []result
	ok = true
	for _, t := range targets {
		if !strings.Contains(t.String(), only) {
			continue
		}
		r := t.fuzz(ctx, each, parallel)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		fmt.Println(r)
		fmt.Printf("figure: targets = 1\nfigure: inputs = %d\n", r.executions)
		if !r.ok {
			fmt.Println(indented(r.output))
			ok = false
		} else if keep > 0 {
			if err := t.keep(ctx, keep); err != nil {
				return false, err
			}
		}
		results = append(results, r)
	}
	fmt.Printf("\n%s", table(results))
	if page != "" && only == "" {
		err = writePage(page, each, results)
	}
	return ok, err
}

func indented(text string) string {
	return "\t" + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n\t")
}
