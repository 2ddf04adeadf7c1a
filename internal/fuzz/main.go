// Command fuzz runs the fuzz targets of the module, and says what came of each:
//
//	go run ./internal/fuzz -time 30s -only Cursor -keep 5
//	go run ./internal/fuzz -time 10m -for 1h -file bench/proof.json
//
// With -file it keeps what each target did, and goes on where it was stopped: it always takes the target
// that has run least, so that time adds up over many runs. internal/chart makes a table of it.
//
// With -keep it copies some of the inputs that reached new code to testdata/fuzz, where go test
// runs them from then on.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

func main() {
	var c campaign
	flag.DurationVar(&c.each, "time", 30*time.Second, "how long each target runs, together with its earlier runs in -file")
	flag.DurationVar(&c.slice, "slice", 2*time.Minute, "how long a target runs before another one is next")
	flag.DurationVar(&c.most, "for", 0, "how long to run in all; zero means until each target has run for -time")
	flag.StringVar(&c.file, "file", "", "the file that keeps what each target did, such as bench/proof.json; empty for none")
	flag.IntVar(&c.atOnce, "parallel", runtime.NumCPU(), "how many targets run at once, each trying one input at a time")
	flag.IntVar(&c.keep, "keep", 0, "how many new inputs of each target to copy to testdata/fuzz")
	only := flag.String("only", "", "only targets whose package or name contains this")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := c.run(ctx, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}
