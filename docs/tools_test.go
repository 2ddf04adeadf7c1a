//go:build unix

package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/etcdtest"
)

// beDibs is the environment variable that makes the test binary the program dibs.
const beDibs = "DIBS_TEST_BE_DIBS"

func TestMain(m *testing.M) {
	if os.Getenv(beDibs) != "" {
		os.Exit(cli.Process{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}.Run())
	}
	etcdtest.Main(m)
}

// marked are the blocks of a page by their marks, such as <!-- run: sqlite backup -->.
type marked struct {
	*testing.T
	blocks map[string]string
	shown  map[string]string // the output behind a block
	used   map[string]bool
}

var mark = regexp.MustCompile(`<!-- ((?:run|sql|file): .+) -->$`)

// readMarked reads a page. Every block needs a mark of its own, or shows the output of the one before.
func readMarked(t *testing.T, path string) *marked {
	t.Helper()
	m := &marked{t, make(map[string]string), make(map[string]string), make(map[string]bool)}
	last := ""
	for _, b := range blocksOf(readText(t, path)) {
		before := strings.TrimSpace(b.before)
		found := mark.FindStringSubmatch(before)
		switch {
		case found != nil && m.blocks[found[1]] == "":
			last = found[1]
			m.blocks[last] = b.body
		case found == nil && before == "" && last != "":
			m.shown[last] = b.body
		default:
			t.Errorf("no test runs this block, or its mark is not its own:\n%s", b.body)
		}
	}
	return m
}

// block returns a block with a mark.
func (m *marked) block(mark string) string {
	m.Helper()
	if m.blocks[mark] == "" {
		m.Fatalf("the page has no block %q", mark)
	}
	m.used[mark] = true
	return m.blocks[mark]
}

// mustUse fails the test if it has not used all blocks whose marks begin with a text.
func (m *marked) mustUse(prefix string) {
	m.Helper()
	for mark := range m.blocks {
		if strings.HasPrefix(mark, prefix) && !m.used[mark] {
			m.Errorf("no test has run the block %q", mark)
		}
	}
}

// shell is a folder in which the blocks of a page run, with the programs that they need.
type shell struct {
	*marked
	folder string
	env    []string
}

func newShell(t *testing.T, page *marked, env ...string) *shell {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	s := &shell{page, folder, append([]string{"PATH=" + folder + ":" + os.Getenv("PATH"), "HOME=" + folder, "LC_ALL=C.UTF-8"}, env...)}
	s.addProgram("dibs", fmt.Sprintf("%s=1 exec '%s'", beDibs, program))
	return s
}

// addProgram adds a program that runs a command with its arguments.
func (s *shell) addProgram(name, command string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, name), []byte("#!/bin/sh\n"+command+" \"$@\"\n"), 0o700); err != nil {
		s.Fatal(err)
	}
}

// run runs a block with further variables, and compares its output with what the page shows.
func (s *shell) run(mark string, env ...string) {
	s.Helper()
	out, said, err := s.attempt(mark, env...)
	if err != nil {
		s.Fatalf("%s: %v\n%s%s", mark, err, out, said)
	}
	if shown := s.shown["run: "+mark]; shown != "" && out != shown {
		s.Errorf("%s prints\n%s%s\nthe page shows\n%s", mark, out, said, shown)
	}
}

// attempt runs a block with further variables, and returns what it prints.
func (s *shell) attempt(mark string, env ...string) (stdout, stderr string, err error) {
	s.Helper()
	command := exec.CommandContext(s.Context(), "sh", "-euc", s.block("run: "+mark))
	command.Dir, command.Env = s.folder, slices.Concat(s.env, env)
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	return string(out), said.String(), err
}

// openStore opens a store as a registry, which the caller closes.
func openStore(t *testing.T, address string) *dibs.Registry {
	t.Helper()
	store, err := engine.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := embedded.Open(store, dibs.Config{SweepEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	return registry
}
