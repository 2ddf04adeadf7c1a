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
	"slices"
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
	commit, err := figures.Commit()
	if err != nil {
		return err
	}
	for {
		all, err := figures.ReadProof(p.file)
		if err != nil {
			return err
		}
		before := all.Run(p.name)
		if before.Commit != commit || p.total == 0 {
			before = figures.ProofRun{OK: true} // it begins anew
		}
		if done, err := p.isDone(before, least); done || err != nil {
			return err
		}
		part, failed := p.once(command, before.Seconds)
		if part.Commit = commit; part.Name != "" {
			err = p.merge(part)
		}
		if err != nil || failed != nil || p.total == 0 {
			return errors.Join(failed, err)
		}
	}
}

// isDone reports whether the parts of a run have come to its time and its figures.
func (p proof) isDone(run figures.ProofRun, least map[string]float64) (bool, error) {
	if !run.OK {
		return false, fmt.Errorf("%s failed at this commit: remove it from %s to run it again", p.name, p.file)
	}
	if p.total == 0 || run.Seconds < p.total.Seconds() {
		return false, nil
	}
	done := true
	for what, value := range least {
		figure := run.Figure(what)
		if figure == 0 && value > 0 {
			return false, fmt.Errorf("%s has no figure %q after %v: it would never reach %v", p.name, what, p.total, value)
		}
		done = done && figure >= value
	}
	return done, nil
}

// merge adds a part to the file, which other runs may have changed meanwhile.
func (p proof) merge(part figures.ProofRun) error {
	return figures.UpdateProof(p.file, func(all *figures.Proof) {
		if p.total == 0 { // it replaces the run before
			all.Runs = slices.DeleteFunc(all.Runs, func(r figures.ProofRun) bool { return r.Name == part.Name })
		}
		all.Merge(part)
	})
}

// once runs the command. It returns an empty part if the command did not run, or passed without a figure: that proves nothing.
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
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return figures.ProofRun{}, err
	}
	part := figures.ProofRun{
		Name: p.name, Date: began.UTC().Format(time.DateOnly), Machine: machine(), Seconds: time.Since(began).Seconds(),
		OK: err == nil, Figures: []figures.Figure{},
	}
	for _, f := range read(output.String()) {
		part.Add(f)
	}
	if part.OK && len(part.Figures) == 0 {
		return figures.ProofRun{}, fmt.Errorf("%s passed, and told no figure: did it run any test?", strings.Join(args, " "))
	}
	return part, err
}

func parseLeast(text string) (map[string]float64, error) {
	least := make(map[string]float64)
	if text == "" {
		return least, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		what, number, _ := strings.Cut(part, "=")
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return nil, fmt.Errorf("-least %q: want a figure and a number, such as \"fault kill=200\"", part)
		}
		least[what] = value
	}
	return least, nil
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
