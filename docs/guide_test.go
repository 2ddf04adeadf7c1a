package docs_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/freeport"
)

// guidePage follows a page as a reader does, in a folder of its own: it saves the files that the
// page shows, starts the servers, runs the commands, and compares what they print.
type guidePage struct {
	*opsPage
	addresses map[string]string // on the page and in the test
	exported  []string          // NAME=value
	ran       int               // commands
}

// guides are the pages that tests follow, with the least number of commands of each.
func guides(t *testing.T) map[string]int {
	t.Helper()
	pages := map[string]int{"docs/tutorial.md": 20, "docs/cli.md": 4}
	found, err := filepath.Glob(filepath.Join(root, "docs/howto/*.md"))
	if err != nil || len(found) < 8 {
		t.Fatalf("found only the how-tos %q, %v", found, err)
	}
	for _, path := range found {
		pages["docs/howto/"+filepath.Base(path)] = 2
	}
	return pages
}

func TestGuides(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it runs programs, which the race detector does not see")
	}
	for path, atLeast := range guides(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			p := newGuide(t)
			if p.follow(readText(t, path)); p.ran < atLeast {
				t.Errorf("only %d commands ran, want at least %d", p.ran, atLeast)
			}
		})
	}
}

func newGuide(t *testing.T) *guidePage {
	t.Helper()
	p := &guidePage{
		opsPage:   &opsPage{webPage: &webPage{T: t, env: make(map[string]string)}, folder: t.TempDir()},
		addresses: map[string]string{"localhost:8000": localAddress(t), "localhost:8080": localAddress(t)},
	}
	p.url = "http://" + p.addresses["localhost:8080"]
	p.addDibs()
	t.Cleanup(p.end)
	return p
}

// localAddress returns an address for a program, by name as pages have it.
func localAddress(t *testing.T) string { return fmt.Sprint("localhost:", freeport.Port(t)) }

// addDibs adds the program dibs to the folder: it runs this test binary.
func (p *opsPage) addDibs() {
	p.Helper()
	program, err := os.Executable()
	if err != nil {
		p.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n%s=\"$(printf '%%s\\n' \"$@\")\" exec %s -test.run='^TestBeServer$'\n", beServer, program)
	if err := os.WriteFile(filepath.Join(p.folder, "dibs"), []byte(script), 0o700); err != nil { //nolint:gosec // a program
		p.Fatal(err)
	}
}

func (p *guidePage) writeFile(name, text string) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(p.folder, name), []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

// here replaces the addresses of the page by those of the test.
func (p *guidePage) here(text string) string {
	for page, test := range p.addresses {
		_, port, _ := strings.Cut(page, ":")
		_, freePort, _ := strings.Cut(test, ":")
		text = strings.ReplaceAll(text, page, test)
		text = strings.ReplaceAll(text, `"localhost", `+port, `"localhost", `+freePort) // in Python
	}
	return text
}

var (
	fileMark   = regexp.MustCompile(`<!-- file: (\S+) -->$`)
	notRunMark = regexp.MustCompile(`<!-- not run: .+ -->$`)
	export     = regexp.MustCompile(`^export (\w+)=(\S+)$`)
)

// follow saves the blocks that are marked as files, and runs all shell blocks that are not marked
// otherwise. The block behind a shell block is the output of its last command.
func (p *guidePage) follow(text string) {
	p.Helper()
	blocks := blocksOf(text)
	for i, b := range blocks {
		before := strings.TrimSpace(b.before)
		switch file := fileMark.FindStringSubmatch(before); {
		case file != nil:
			p.writeFile(file[1], p.here(b.body))
		case b.kind == "sh" && !notRunMark.MatchString(before):
			p.runBlock(b.body, shownBehind(blocks, i))
		case slices.Contains([]string{"toml", "python", "ts", "go"}, b.kind) && !notRunMark.MatchString(before):
			p.Errorf("the block is neither a file nor marked <!-- not run: why -->:\n%s", b.body)
		}
	}
}

func (p *guidePage) runBlock(body string, shown block) {
	p.Helper()
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(body, "\\\n", " ")), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "dibs serve") && i < len(lines)-1 {
			p.Errorf("a server keeps its terminal, so the rest of this block never runs:\n%s", body)
		}
		if i < len(lines)-1 {
			p.step(line, block{})
		} else {
			p.step(line, shown)
		}
	}
}

// step runs a line and compares what it prints.
func (p *guidePage) step(line string, shown block) {
	p.Helper()
	p.ran++
	if strings.HasPrefix(line, "curl ") {
		p.curl(p.words(line)[1:], shown)
		return
	}
	line = p.here(line)
	exported := export.FindStringSubmatch(line)
	switch {
	case exported != nil:
		p.exported = append(p.exported, exported[1]+"="+exported[2])
		p.env[exported[1]] = exported[2]
	case strings.HasPrefix(line, "dibs serve"):
		p.end() // the page says to stop it first
		p.serveAs(p.words(line)[2:])
	case strings.HasSuffix(line, " &"):
		p.background(strings.TrimSuffix(line, " &"))
	default:
		p.compare(line, shown, p.output(line))
	}
}

// serveAs starts the server of the page, at its address.
func (p *guidePage) serveAs(args []string) {
	p.Helper()
	p.server = p.command("dibs serve --listen " + strings.TrimPrefix(p.url, "http://") + " " + strings.Join(args, " "))
	p.server.Stderr = &p.log
	p.start(p.server, func(*bufio.Scanner) { p.awaitHealth() })
}

// awaitHealth waits until the server of the page answers. One with keys does not print its address.
func (p *guidePage) awaitHealth() {
	p.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		response, err := http.Get(p.url + "/healthz")
		if err == nil {
			_ = response.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			p.Fatalf("the server does not answer: %v\n%s", err, &p.log)
		}
	}
}

// background starts a program that runs until the test ends, and waits for its first line.
func (p *guidePage) background(line string) {
	p.Helper()
	program := p.command(line)
	failed := new(bytes.Buffer)
	program.Stderr = failed
	p.start(program, func(out *bufio.Scanner) {
		if !out.Scan() {
			p.Fatalf("%s prints nothing\n%s", line, failed)
		}
	})
	p.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	})
}

func (p *guidePage) start(program *exec.Cmd, ready func(out *bufio.Scanner)) {
	p.Helper()
	out, err := program.StdoutPipe()
	if err != nil {
		p.Fatal(err)
	}
	if err := program.Start(); err != nil {
		p.Fatal(err)
	}
	ready(bufio.NewScanner(out))
}

// command returns a line for the shell, which becomes the program itself: signals reach it. It runs
// until the end of the test, which is after the end of the test's context.
func (p *guidePage) command(line string) *exec.Cmd {
	shell := exec.Command("sh", "-euc", "exec "+line)
	p.prepare(shell)
	return shell
}

func (p *guidePage) prepare(shell *exec.Cmd) {
	python, _ := filepath.Abs(filepath.Join(root, "clients/python"))
	shell.Dir = p.folder
	shell.Env = append(os.Environ(), append(p.exported, "PYTHONPATH="+python, "NO_COLOR=1", "PATH="+p.folder+string(os.PathListSeparator)+os.Getenv("PATH"))...)
}

// output runs a line and returns everything that it prints. A command may fail: its message is
// what the page shows.
func (p *guidePage) output(line string) string {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), time.Minute) // the page may wait for something that never happens
	defer cancel()
	shell := exec.CommandContext(ctx, "sh", "-uc", line)
	shell.WaitDelay = time.Second // for programs of the shell that have its output
	p.prepare(shell)
	out, err := shell.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed || ctx.Err() != nil {
		p.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// compare compares an output with the block that the page shows. Without one the command must
// succeed in silence, or its output does not matter.
func (p *guidePage) compare(line string, shown block, got string) {
	p.Helper()
	var err error
	switch shown.kind {
	case "":
		if strings.Contains(got, "Traceback") || strings.HasPrefix(got, "dibs: ") || strings.Contains(got, "not found\n") {
			err = fmt.Errorf("it prints\n%s", got)
		}
	case "json":
		err = compareJSON(shown.body, strings.NewReader(got))
	default:
		if !patternOf(p.here(shown.body)).MatchString(strings.TrimSpace(got)) {
			err = fmt.Errorf("it prints\n%s\nthe page says\n%s", got, shown.body)
		}
	}
	if err != nil {
		p.Errorf("%s: %v", line, err)
	}
}

var (
	spaces = regexp.MustCompile(` +`)
	stamp  = regexp.MustCompile(`\d{4}-\d\d-\d\d(T| )\d\d:\d\d:\d\d(\\\.\d+)?Z( \\\(in \w+\\\))?`)
)

// patternOf returns what matches the output that a page shows: … is any text within a line, any
// time is equal to any other, and so is any width of a column.
func patternOf(shown string) *regexp.Regexp {
	text := regexp.QuoteMeta(strings.TrimSpace(shown))
	text = stamp.ReplaceAllString(text, `\d{4}-\d\d-\d\d[T ][\d:.]+Z( \(in \w+\))?`)
	text = strings.ReplaceAll(text, "…", ".*")
	return regexp.MustCompile("^" + spaces.ReplaceAllString(text, " +") + "$")
}
