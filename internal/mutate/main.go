// Command mutate checks whether the tests find a broken rule. It makes one small change at a time,
// runs the tests, and lists the changes that no test found, the survivors:
//
//	go run ./internal/mutate
//	go run ./internal/mutate -only name.go
//
// A survivor is either a hole in the tests or an equivalent change, which no test can find. The
// equivalent ones are listed in equivalent.txt, each with the reason. A survivor that is not listed
// fails the run, and so does a listed change that is found by now or does not exist any more.
//
// The tests are compiled once, with all changes in them, each behind its number: an environment
// variable says which one runs. The files themselves are never changed.
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// nearest are the packages whose tests must find the changes. Few changes get past the first.
const nearest = "./internal/rules,./internal/core,./internal/model"

// options say what to change, and what to expect.
type options struct {
	patterns   []string // of the files to change
	statements bool     // leave statements out, too
	equivalent string   // the file with the changes that no test can find
	only       string   // see the flag
	procs      int
}

func main() {
	var o options
	files := flag.String("files", "internal/rules/*.go", "comma-separated patterns of the files to change")
	tests := flag.String("tests", nearest, "comma-separated packages whose tests must find the changes, in this order")
	flag.BoolVar(&o.statements, "statements", false, "also leave out single statements; most of those that no test finds only save time")
	flag.StringVar(&o.equivalent, "equivalent", "internal/mutate/equivalent.txt", "the changes that no test can find, with reasons")
	flag.StringVar(&o.only, "only", "", "only changes whose description contains this, or one of the lines of this file")
	flag.IntVar(&o.procs, "procs", 2, "how many changes to try concurrently")
	timeout := flag.Duration("timeout", time.Minute, "how long the tests of one package may take")
	flag.Parse()
	o.patterns = strings.Split(*files, ",")

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok, err := mutate(ctx, &runner{packages: strings.Split(*tests, ","), timeout: *timeout}, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// mutate tries the changes, and reports whether all is as the list of equivalent ones says.
func mutate(ctx context.Context, run *runner, o options) (ok bool, err error) {
	equivalent, err := readEquivalent(o.equivalent)
	if err != nil {
		return false, err
	}
	changed, mutants, err := collect(o.patterns, o.statements)
	if err != nil {
		return false, err
	}
	folder, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(folder)
	if err := run.build(ctx, folder, changed); err != nil {
		return false, err
	}
	some := []string{o.only}
	if lines, err := os.ReadFile(o.only); err == nil {
		some = strings.Split(strings.TrimSpace(string(lines)), "\n")
	}
	var numbers []int
	for i, m := range mutants {
		if slices.ContainsFunc(some, func(text string) bool { return strings.Contains(m.String(), text) }) {
			numbers = append(numbers, i+1)
		}
	}
	begin := time.Now()
	survivors, err := tryAll(ctx, run, mutants, numbers, o.procs)
	if err != nil {
		return false, err
	}
	return report(mutants, numbers, survivors, equivalent, time.Since(begin)), nil
}

// report prints which survivors are not listed, and which listed ones did not survive.
func report(mutants []mutant, numbers, survivors []int, equivalent []string, took time.Duration) (ok bool) {
	ok = true
	listed := 0
	for _, k := range numbers {
		m := mutants[k-1]
		survived, known := slices.Contains(survivors, k), slices.Contains(equivalent, m.String())
		switch {
		case survived && known:
			listed++
		case survived:
			fmt.Printf("not found: %s (line %d)\n", m, m.line)
			ok = false
		case known:
			fmt.Printf("found, though listed as equivalent: %s (line %d)\n", m, m.line)
			ok = false
		}
	}
	fmt.Printf("%d changes in %s: %d were found, %d are equivalent, %d were not found\n", len(numbers), took.Round(time.Second),
		len(numbers)-len(survivors), listed, len(survivors)-listed)
	return ok
}

// tryAll tries changes and returns the numbers of those that no test found, in order.
func tryAll(ctx context.Context, run *runner, mutants []mutant, numbers []int, procs int) (survivors []int, err error) {
	var (
		mu    sync.Mutex
		group sync.WaitGroup
		queue = make(chan int)
		done  int
	)
	for range procs {
		group.Go(func() {
			for k := range queue {
				killed, output, fail := run.try(ctx, k)
				mu.Lock()
				err = cmp.Or(err, fail)
				if done++; done%100 == 0 {
					fmt.Fprintf(os.Stderr, "%d of %d\n", done, len(numbers))
				}
				switch {
				case fail != nil:
				case !killed:
					survivors = append(survivors, k)
					fmt.Fprintln(os.Stderr, "survived:", mutants[k-1])
				case bytes.Contains(output, []byte("panic: test timed out")): // most likely a loop without end
					fmt.Fprintln(os.Stderr, "hangs:", mutants[k-1])
				}
				mu.Unlock()
			}
		})
	}
	for _, k := range numbers {
		queue <- k
	}
	close(queue)
	group.Wait()
	slices.Sort(survivors)
	return survivors, err
}

// collect finds the changes to all files that match the patterns. It returns the files with the
// changes in them, and the changes, numbered from 1.
func collect(patterns []string, statements bool) (changed map[string][]byte, mutants []mutant, err error) {
	changed = make(map[string][]byte)
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, nil, err
		}
		if len(paths) == 0 {
			return nil, nil, fmt.Errorf("no file matches %s", pattern)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return nil, nil, err
			}
			var found []mutant
			if changed[path], found, err = withMutants(path, source, len(mutants)+1, statements); err != nil {
				return nil, nil, err
			}
			mutants = append(mutants, found...)
		}
	}
	return changed, mutants, withHelpers(changed)
}
