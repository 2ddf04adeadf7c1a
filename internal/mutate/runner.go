package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/calldibs/dibs/internal/overlay"
)

// variable has the number of the mutant that runs; traceVariable a file for the numbers of those
// that a test has reached.
const (
	variable      = "DIBS_MUTANT"
	traceVariable = "DIBS_MUTANT_TRACE"
)

// addressSpace is how much a test may have, in KiB: a mutant may make a list without end.
const addressSpace = 8 << 20

// runner runs tests that have all mutants in them.
type runner struct {
	packages []string // the nearest first
	timeout  time.Duration
	memory   *memory

	programs []program
}

// program is the tests of a package.
type program struct {
	pkg, path string
	hash      string
	tests     []test // the quickest first
}

// test is a test function, and the mutants that it reaches.
type test struct {
	name    string
	took    time.Duration
	reaches map[int]bool
}

// build compiles the tests of the packages with the changed files, and runs each test once without a
// mutant, to learn which mutants it reaches. The programs are made in folder.
func (r *runner) build(ctx context.Context, folder string, changed map[string][]byte) error {
	list, err := overlay.Write(folder, changed)
	if err != nil {
		return err
	}
	hashes := make(map[string]bool)
	for _, pkg := range r.packages {
		p := program{pkg: pkg, path: filepath.Join(folder, strings.ReplaceAll(pkg, "/", "_")+".test")}
		build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-trimpath", "-overlay="+list, "-o", p.path, pkg)
		if output, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", pkg, err, output)
		}
		if p.hash, err = hashOf(p.path); err != nil {
			return err
		}
		hashes[p.hash] = true
		if err := r.traceTests(ctx, &p); err != nil {
			return err
		}
		r.programs = append(r.programs, p)
	}
	r.memory.keepOnly(hashes)
	return nil
}

func hashOf(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(content)), nil
}

// onEveryEngine is a test that starts databases, to compare engines by the same histories that other
// tests check against a model. It takes longer than all others together.
const onEveryEngine = "TestHistoriesOnEveryEngine"

// traceTests finds the tests of a program, and what they reach.
func (r *runner) traceTests(ctx context.Context, p *program) error {
	output, err := exec.CommandContext(ctx, p.path, "-test.list=^Test").Output()
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(string(output)) {
		if name == onEveryEngine {
			continue
		}
		t, passed, err := r.trace(ctx, *p, name)
		if err != nil {
			return err
		}
		if passed {
			p.tests = append(p.tests, t)
		}
	}
	slices.SortStableFunc(p.tests, func(a, b test) int { return cmp.Compare(a.took, b.took) })
	return nil
}

// trace runs a test without a mutant, and finds what it reaches.
func (r *runner) trace(ctx context.Context, p program, name string) (t test, passed bool, err error) {
	trace := p.path + ".trace"
	if err := os.WriteFile(trace, nil, 0o600); err != nil {
		return test{}, false, err
	}
	begin := time.Now()
	failed, output, err := r.run(ctx, p, []string{name}, traceVariable+"="+trace, r.timeout)
	if err != nil {
		return test{}, false, err
	}
	if failed { // it counts allocations, for example, and would find every mutant
		fmt.Fprintf(os.Stderr, "left out, because it fails without a change: %s of %s\n%s", name, p.pkg, output)
		return test{}, false, nil
	}
	t = test{name: name, took: time.Since(begin), reaches: make(map[int]bool)}
	numbers, err := os.ReadFile(trace)
	if err != nil {
		return test{}, false, err
	}
	for text := range strings.FieldsSeq(string(numbers)) {
		k, err := strconv.Atoi(text)
		if err != nil {
			return test{}, false, err
		}
		t.reaches[k] = true
	}
	return t, true, nil
}

// withHelpers adds the helpers to the changed files of each package.
func withHelpers(changed map[string][]byte) error {
	packages := make(map[string][]byte)
	for path, source := range changed {
		parsed, err := parser.ParseFile(token.NewFileSet(), path, source, parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		packages[filepath.Join(filepath.Dir(path), "mutant_helpers.go")] = helperSource(parsed.Name.Name)
	}
	maps.Copy(changed, packages)
	return nil
}

// few is how many tests are tried before all others that reach a mutant.
const few = 6

// reaching returns the tests that reach a mutant, the quickest first.
func (p program) reaching(m mutant) (names []string) {
	for _, t := range p.tests {
		if t.reaches[m.number] {
			names = append(names, t.name)
		}
	}
	return names
}

// try runs the tests that reach a mutant, and reports whether one fails: the one that found it last
// time, then package by package. Tests that found other mutants of the function come first, and the
// quickest of the others next.
func (r *runner) try(ctx context.Context, m mutant) (killed bool, output []byte, err error) {
	last := r.memory.finder(m.String())
	for _, p := range r.programs {
		if p.pkg == last.Package && slices.ContainsFunc(p.tests, func(t test) bool { return t.name == last.Test }) {
			if killed, output, err = r.tryTests(ctx, p, []string{last.Test}, m); killed || err != nil {
				return killed, output, err
			}
		}
	}
	for _, p := range r.programs {
		if r.memory.passed(p.hash, m.String()) {
			continue
		}
		names := p.reaching(m)
		good := r.memory.findersIn(m)
		slices.SortStableFunc(names, func(a, b string) int { return good[finder{p.pkg, b}] - good[finder{p.pkg, a}] })
		for _, some := range [][]string{names[:min(few, len(names))], names[min(few, len(names)):]} {
			if len(some) == 0 {
				continue
			}
			if killed, output, err = r.tryTests(ctx, p, some, m); killed || err != nil {
				return killed, output, err
			}
		}
		r.memory.notePassed(p.hash, m.String())
	}
	return false, nil, nil
}

// failure matches the name of a test that failed, or did not end.
var failure = regexp.MustCompile(`(?:--- FAIL: |running tests:\s+)(Test\w+)`)

// A test hangs if it takes many times as long as without a mutant, and some seconds more.
const (
	manyTimes = 100
	someMore  = 10 * time.Second
)

// limit returns how long some tests of a program may take together.
func (r *runner) limit(p program, tests []string) time.Duration {
	took := someMore
	for _, t := range p.tests {
		if slices.Contains(tests, t.name) {
			took += manyTimes * t.took
		}
	}
	return min(took, r.timeout)
}

// tryTests runs some tests of a program with a mutant.
func (r *runner) tryTests(ctx context.Context, p program, tests []string, m mutant) (killed bool, output []byte, err error) {
	killed, output, err = r.run(ctx, p, tests, variable+"="+strconv.Itoa(m.number), r.limit(p, tests))
	if by := failure.FindSubmatch(output); killed && by != nil {
		r.memory.noteFinder(m.String(), finder{p.pkg, string(by[1])})
	}
	return killed, output, err
}

func (r *runner) run(ctx context.Context, p program, tests []string, env string, timeout time.Duration) (failed bool, output []byte, err error) {
	// The test itself ends after the timeout; this one is for a test that cannot.
	limited, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	command := exec.CommandContext(limited, "sh", "-c", fmt.Sprintf(`ulimit -v %d 2>/dev/null; exec "$0" "$@"`, addressSpace),
		p.path, "-test.failfast", "-test.short", "-test.timeout="+timeout.String(), "-test.run=^("+strings.Join(tests, "|")+")$")
	command.Dir = p.pkg
	command.Env = append(os.Environ(), env)
	command.WaitDelay = time.Second
	all := &untilFailure{fail: cancel}
	command.Stdout, command.Stderr = all, all
	err = command.Run()
	if ctx.Err() != nil {
		return false, all.Bytes(), ctx.Err()
	}
	if _, exited := errors.AsType[*exec.ExitError](err); exited || limited.Err() != nil {
		return true, all.Bytes(), nil
	}
	return false, all.Bytes(), err
}

// untilFailure is the output of tests. It ends them with the first failure: parallel tests would all
// run, in spite of -failfast.
type untilFailure struct {
	bytes.Buffer
	fail func()
}

func (u *untilFailure) Write(p []byte) (int, error) {
	n, err := u.Buffer.Write(p)
	if bytes.Contains(u.Bytes(), []byte("--- FAIL:")) {
		u.fail()
	}
	return n, err
}
