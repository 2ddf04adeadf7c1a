// Command mutate checks whether the tests find a broken rule. It changes one condition at a
// time, runs the tests, and lists the changes that no test found:
//
//	go run ./internal/mutate -files 'internal/rules/*.go' -tests ./internal/rules,./internal/core
//
// The files themselves are never changed: each change is an overlay for one build. A change
// that does not compile, or makes a test hang, counts as found (the mutant is killed).
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

func main() {
	files := flag.String("files", "internal/rules/*.go", "comma-separated patterns of the files to change")
	tests := flag.String("tests", "./internal/rules,./internal/core", "comma-separated packages whose tests must find the changes")
	only := flag.String("only", "", "only changes whose description contains this")
	procs := flag.Int("procs", 2, "how many changes to try concurrently")
	timeout := flag.Duration("timeout", time.Minute, "how long one run of the tests may take")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	run := runner{packages: strings.Split(*tests, ","), timeout: *timeout}
	survivors, total, err := tryAll(ctx, run, strings.Split(*files, ","), *only, *procs)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	fmt.Printf("%d of %d changes were not found\n", survivors, total)
	if survivors > 0 {
		os.Exit(1)
	}
}

// tryAll tries every change and prints each survivor as soon as it is known.
func tryAll(ctx context.Context, run runner, patterns []string, only string, procs int) (survivors, total int, err error) {
	mutants, err := collect(patterns, only)
	if err != nil {
		return 0, 0, err
	}
	// The tests must pass without a change, otherwise every change would count as found.
	if killed, output, err := run.try(ctx, nil); err != nil {
		return 0, 0, err
	} else if killed {
		return 0, 0, fmt.Errorf("the tests fail without a change:\n%s", output)
	}
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		queue = make(chan mutant)
	)
	for range procs {
		group.Go(func() {
			for m := range queue {
				killed, _, fail := run.try(ctx, &m)
				mu.Lock()
				if fail != nil && err == nil {
					err = fail
				}
				if fail == nil && !killed {
					survivors++
					fmt.Println(m)
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range mutants {
		queue <- m
	}
	close(queue)
	group.Wait()
	return survivors, len(mutants), err
}

// collect finds the changes to all files that match the patterns.
func collect(patterns []string, only string) ([]mutant, error) {
	var mutants []mutant
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		if len(paths) == 0 {
			return nil, fmt.Errorf("no file matches %s", pattern)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			found, err := mutantsOf(path, source)
			if err != nil {
				return nil, err
			}
			for _, m := range found {
				if strings.Contains(m.String(), only) {
					mutants = append(mutants, m)
				}
			}
		}
	}
	return mutants, nil
}
