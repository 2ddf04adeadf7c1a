package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// target is a fuzz target.
type target struct {
	pkg  string // its folder, such as "internal/wire"; "." is the root
	name string
}

func (t target) String() string { return t.pkg + " " + t.name }

// find returns the fuzz targets of the module at a folder, in order. Folders with a module of their
// own do not belong to it.
func find(root string) (targets []target, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			name := entry.Name()
			_, missing := os.Stat(filepath.Join(path, "go.mod"))
			if path != root && (missing == nil || name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Fuzz") {
				targets = append(targets, target{filepath.ToSlash(folder), fn.Name.Name})
			}
		}
		return err
	})
	slices.SortFunc(targets, func(a, b target) int { return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.name, b.name)) })
	return targets, err
}

// result is what came of a target.
type result struct {
	target
	took        time.Duration // on a processor
	executions  int
	interesting int // inputs that reached new code
	findings    int // inputs that fail, and did not before
	ok          bool
	ended       bool // before its time
	output      string
}

func (r result) String() string {
	verdict := "nothing found"
	if !r.ok {
		verdict = "FAILED"
	}
	return fmt.Sprintf("%-50s %12d executions, %4d new inputs, %5.0f s: %s", r.target, r.executions, r.interesting, r.took.Seconds(), verdict)
}

// build returns the test binary of the target, which those of its package share, and builds it if it is not in the folder.
// Go would link it again for each run.
func (t target) build(folder string) (string, error) {
	program := filepath.Join(folder, strings.ReplaceAll(t.pkg, "/", "-")+".test")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if output, err := exec.Command("go", "test", "-c", "-fuzz=Fuzz", "-o", program, "./"+t.pkg).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s does not compile: %w\n%s", t.pkg, err, output)
	}
	return program, nil
}

// fuzz runs the target, until ctx ends at the latest.
func (t target) fuzz(ctx context.Context, program string, length time.Duration) (result, error) {
	cache, err := t.cache()
	if err != nil {
		return result{}, err
	}
	begin := time.Now()
	command := exec.CommandContext(ctx, program, "-test.run=^$", "-test.fuzz=^"+t.name+"$", "-test.fuzztime="+length.String(),
		"-test.fuzzminimizetime=10x", "-test.fuzzcachedir="+cache, "-test.parallel=1", "-test.timeout=0")
	command.Dir = filepath.FromSlash(t.pkg)
	// It ends in order, and tells what it did.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = time.Minute
	output, err := command.CombinedOutput()
	r := result{target: t, took: ran(command, time.Since(begin)), ended: ctx.Err() != nil, output: string(output)}
	r.ok = err == nil || errors.Is(err, ctx.Err()) || timeWasOver.MatchString(r.output)
	if strings.Contains(r.output, "no fuzz tests to fuzz") {
		r.ok = false // it is not compiled on this system, for example
	}
	r.executions, r.interesting = progress(r.output)
	r.findings = strings.Count(r.output, "Failing input written to")
	return r, nil
}

// ran returns how much of the time that a command took it had a processor. On a busy machine a target mostly waits, and
// has not been fuzzed meanwhile.
func ran(command *exec.Cmd, took time.Duration) time.Duration {
	if command.ProcessState == nil {
		return 0 // it did not start
	}
	return min(took, command.ProcessState.UserTime()+command.ProcessState.SystemTime())
}

// timeWasOver matches a failure without a cause: on a busy machine Go now and then takes the end of the time that it was given for one.
var timeWasOver = regexp.MustCompile(`--- FAIL: \w+ \([0-9.]+s\)\n    context deadline exceeded\nFAIL\n$`)

// cache is where Go keeps the inputs of the target's package that reached new code.
func (t target) cache() (string, error) {
	cached, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return "", err
	}
	path, err := exec.Command("go", "list", "./"+t.pkg).Output()
	if err != nil {
		return "", err
	}
	return filepath.Join(strings.TrimSpace(string(cached)), "fuzz", strings.TrimSpace(string(path))), nil
}

// progressLine is a line of go test about the progress of a target.
var progressLine = regexp.MustCompile(`execs: (\d+) .*new interesting: (\d+)`)

// progress returns the executions and new inputs of the last such line.
func progress(output string) (executions, interesting int) {
	lines := progressLine.FindAllStringSubmatch(output, -1)
	if len(lines) == 0 {
		return 0, 0
	}
	line := lines[len(lines)-1]
	executions, _ = strconv.Atoi(line[1])
	interesting, _ = strconv.Atoi(line[2])
	return executions, interesting
}

// maxKept is the size of the largest input that is kept, in bytes.
const maxKept = 2048

// keep copies inputs of the target from the cache of go test to testdata/fuzz, until there are n. It
// takes short and long ones.
func (t target) keep(n int) error {
	cache, err := t.cache()
	if err != nil {
		return err
	}
	return keepInputs(filepath.Join(cache, t.name), filepath.Join(t.pkg, "testdata", "fuzz", t.name), n)
}

// keepInputs copies inputs to a target's own, until there are n.
func keepInputs(cached, own string, n int) error {
	inputs, err := inputsIn(cached)
	if err != nil {
		return err
	}
	have, err := inputsIn(own)
	if err != nil {
		return err
	}
	if n -= len(have); n <= 0 {
		return nil
	}
	inputs = slices.DeleteFunc(inputs, func(path string) bool { // a file has the name of what is in it
		return slices.Contains(have, filepath.Join(own, filepath.Base(path)))
	})
	if len(inputs) == 0 {
		return nil
	}
	if err := os.MkdirAll(own, 0o700); err != nil {
		return err
	}
	for i := range min(n, len(inputs)) {
		from := inputs[i*len(inputs)/min(n, len(inputs))]
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(own, filepath.Base(from)), data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inputsIn returns the inputs in a folder that are not too large, the smallest first. A folder that
// does not exist has none.
func inputsIn(folder string) (paths []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	sizes := make(map[string]int64)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return nil, err
		}
		if path := filepath.Join(folder, entry.Name()); info.Size() <= maxKept {
			sizes[path] = info.Size()
			paths = append(paths, path)
		}
	}
	slices.SortStableFunc(paths, func(a, b string) int { return cmp.Compare(sizes[a], sizes[b]) })
	return paths, nil
}
