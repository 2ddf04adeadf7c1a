// Command mutate checks whether the tests find a broken rule. It makes one small change at a time,
// runs the tests, and lists the changes that no test found, the survivors:
//
//	go run ./internal/mutate
//	go run ./internal/mutate -only name.go
//
// A survivor is either a hole in the tests or an equivalent change, which no test can find. The
// equivalent ones are listed in equivalent.txt, each with the reason. A survivor that is not listed
// fails the run, and so does a listed change that is found by now or does not exist any more. A
// complete run without either writes its figures into docs/testing.md, and any complete run tells
// them to make proof, which keeps them.
//
// The tests are compiled once, with all changes in them, each behind its number: an environment
// variable says which one runs. The files themselves are never changed. The next run tries the test
// that found a change first, and does not repeat tests that are the same to the byte.
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// nearest are the packages whose tests must find the changes: those of the rules alone. A test of
// another package that finds one is worth a quick test here.
const nearest = "./internal/rules"

// options say what to change, and what to expect.
type options struct {
	files      string // the pattern of the files to change
	equivalent string // the file with the changes that no test can find, and why
	only       string // see the flag
	page       string // has the figures
	procs      int
	out        io.Writer
}

func main() {
	o := options{files: "internal/rules/*.go", equivalent: "internal/mutate/equivalent.txt", page: "docs/testing.md", out: os.Stdout}
	tests := flag.String("tests", nearest, "comma-separated packages whose tests must find the changes, in this order")
	flag.StringVar(&o.only, "only", "", "only changes whose description contains this; the page is not written, and no figures are told")
	flag.IntVar(&o.procs, "procs", 2, "how many changes to try concurrently")
	timeout := flag.Duration("timeout", 2*time.Minute, "how long the tests of one package may take")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := mutate(ctx, &runner{packages: strings.Split(*tests, ","), timeout: *timeout, memory: readMemory(defaultMemory())}, o)
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
	changed, mutants, err := collect(o.files)
	if err != nil {
		return false, err
	}
	if err := equivalent.checkExist(mutants); err != nil {
		return false, err
	}
	if mutants, err = chosen(mutants, o.only); err != nil {
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
	begin := time.Now()
	survivors, err := tryAll(ctx, run, mutants, o.procs)
	if err := cmp.Or(err, run.memory.write()); err != nil {
		return false, err
	}
	sum := sumUp(mutants, survivors, equivalent)
	sum.print(o.out, time.Since(begin))
	if o.only != "" {
		return sum.wrong() == 0, nil
	}
	sum.tell(o.out)
	if sum.wrong() > 0 {
		return false, nil
	}
	return true, sum.writeTo(o.page, equivalent)
}

// chosen returns the changes whose descriptions contain a text.
func chosen(mutants []mutant, text string) ([]mutant, error) {
	mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return !strings.Contains(m.String(), text) })
	if len(mutants) == 0 {
		return nil, fmt.Errorf("no change's description contains %q", text)
	}
	return mutants, nil
}

// tryAll tries changes and returns those that no test found.
func tryAll(ctx context.Context, run *runner, mutants []mutant, procs int) (survivors map[mutant]bool, err error) {
	tries, ctx := errgroup.WithContext(ctx)
	tries.SetLimit(procs)
	var mu sync.Mutex
	done := 0
	survivors = make(map[mutant]bool)
	for _, m := range mutants {
		tries.Go(func() error {
			killed, output, err := run.try(ctx, m)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if !killed {
				survivors[m] = true
				fmt.Fprintln(os.Stderr, "survived:", m)
			} else if bytes.Contains(output, []byte("panic: test timed out")) { // most likely a loop without end
				fmt.Fprintln(os.Stderr, "hangs:", m)
			}
			if done++; done%100 == 0 {
				fmt.Fprintf(os.Stderr, "%d of %d\n", done, len(mutants))
				return run.memory.write() // so that a run that is killed can go on
			}
			return nil
		})
	}
	return survivors, tries.Wait()
}

// collect finds the changes to all files that match a pattern. It returns the files with the
// changes in them, and the changes, numbered from 1.
func collect(pattern string) (changed map[string][]byte, mutants []mutant, err error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, nil, err
	}
	changed = make(map[string][]byte)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		var found []mutant
		if changed[path], found, err = withMutants(path, source, len(mutants)+1); err != nil {
			return nil, nil, err
		}
		mutants = append(mutants, found...)
	}
	return changed, mutants, withHelpers(changed)
}
