// Command proof runs one of the long tests and adds what it did to bench/proof.json, of which
// docs/testing.md has a table. make proof runs it:
//
//	go run ./internal/proof -name "torture sqlite" -for 2h -slice 20m -least "fault kill=200" -- bin/dibs torture sqlite --for {for} --json
//
// A test tells its figures by lines such as "figure: histories = 1000" (package figures), or by the
// report of dibs torture in JSON. A run in slices goes on where it was stopped, as long as the commit
// is the same. Several runs may be under way at once.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/calldibs/dibs/internal/figures"
)

func main() {
	var p proof
	flag.StringVar(&p.file, "file", "bench/proof.json", "where the figures are kept")
	flag.StringVar(&p.name, "name", "", "what is run")
	flag.DurationVar(&p.total, "for", 0, "how long in all; zero means once")
	flag.DurationVar(&p.slice, "slice", 20*time.Minute, "how long one command runs: {for} in its arguments")
	flag.StringVar(&p.least, "least", "", "figures that must be reached, such as \"fault kill=200\", with commas between them")
	share := flag.Int("share", 1, "how many runs have to share -for")
	flag.Parse()
	p.total /= time.Duration(max(1, *share))
	if err := p.run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		os.Exit(1)
	}
}

// proof is a run of one long test.
type proof struct {
	file, name   string
	total, slice time.Duration
	least        string
}

func (p proof) run(command []string) error {
	if p.name == "" || len(command) == 0 {
		return errors.New("give a -name, and a command")
	}
	least, err := parseLeast(p.least)
	if err != nil {
		return err
	}
	commit, err := commitNow()
	if err != nil {
		return err
	}
	for once := true; ; once = false {
		all, err := figures.ReadProof(p.file)
		if err != nil {
			return err
		}
		before := all.Run(p.name)
		if before.Commit != commit {
			before = figures.ProofRun{}
		}
		if p.total == 0 && !once || p.total > 0 && p.isDone(before, least) {
			return nil
		}
		if p.total > 0 && before.Figures != nil && !before.OK {
			return fmt.Errorf("%s failed at this commit: remove it from %s to run it again", p.name, p.file)
		}
		part, failed := p.once(command, before.Seconds)
		part.Commit = commit
		if err := p.merge(part); err != nil || failed != nil {
			return errors.Join(failed, err)
		}
	}
}

// merge adds a part to the file, which other runs may have changed meanwhile.
func (p proof) merge(part figures.ProofRun) error {
	return figures.UpdateProof(p.file, func(all *figures.Proof) {
		if p.total == 0 {
			all.Merge(figures.ProofRun{Name: part.Name}) // replaces the run before
		}
		all.Merge(part)
	})
}

// once runs the command.
func (p proof) once(command []string, ran float64) (figures.ProofRun, error) {
	slice := min(p.slice, max(time.Minute, p.total-time.Duration(ran*float64(time.Second))))
	args := make([]string, len(command))
	for i, arg := range command {
		args[i] = strings.ReplaceAll(arg, "{for}", slice.String())
	}
	began := time.Now()
	var output bytes.Buffer
	run := exec.Command(args[0], args[1:]...)
	run.Stdout, run.Stderr = io.MultiWriter(os.Stdout, &output), os.Stderr
	err := run.Run()
	part := figures.ProofRun{
		Name: p.name, Date: began.UTC().Format(time.DateOnly), Machine: machine(), Seconds: time.Since(began).Seconds(),
		OK: err == nil, Figures: []figures.Figure{},
	}
	for _, f := range read(output.String()) {
		part.Add(f)
	}
	if err == nil && len(part.Figures) == 0 { // go test is content if no test has the name
		part.OK, err = false, errors.New("the command tells no figures: nothing was tested")
	}
	return part, err
}

func (p proof) isDone(run figures.ProofRun, least map[string]float64) bool {
	for what, value := range least {
		if run.Figure(what) < value {
			return false
		}
	}
	return run.Seconds >= p.total.Seconds()
}

func parseLeast(text string) (map[string]float64, error) {
	least := make(map[string]float64)
	for part := range strings.SplitSeq(text, ",") {
		what, number, ok := strings.Cut(part, "=")
		value, err := strconv.ParseFloat(number, 64)
		if text != "" && (!ok || err != nil) {
			return nil, fmt.Errorf("-least %q: want a figure and a number, such as \"fault kill=200\"", part)
		}
		if ok {
			least[what] = value
		}
	}
	return least, nil
}

// commitNow returns the commit of the sources, with a + if they have changed since.
func commitNow() (string, error) {
	head, err := exec.Command("git", "rev-parse", "--short=10", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("git: %w", err)
	}
	commit := strings.TrimSpace(string(head))
	changed, err := exec.Command("git", "status", "--porcelain", "--", ".", ":!bench/proof.json", ":!docs/testing.md").Output()
	if err != nil {
		return "", fmt.Errorf("git: %w", err)
	}
	if len(changed) > 0 {
		commit += "+"
	}
	return commit, nil
}

// machine describes the machine, and does not name it.
func machine() string {
	cores := "cores"
	if runtime.NumCPU() == 1 {
		cores = "core"
	}
	text := fmt.Sprintf("%d %s, %s/%s, %s", runtime.NumCPU(), cores, runtime.GOOS, runtime.GOARCH, runtime.Version())
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		text += ", Linux " + strings.TrimSpace(string(kernel))
	}
	return text
}
