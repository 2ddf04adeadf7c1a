package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/core"
)

// openTerminal returns the two ends of a pseudo-terminal with 80 columns.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("this machine has no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	return person, program
}

// atTerminal runs a command at a terminal, with what the person types, and returns what it shows.
func (w *world) atTerminal(t *testing.T, typed string, env map[string]string, args ...string) (code int, shown string) {
	t.Helper()
	person, program := openTerminal(t)
	if _, err := person.WriteString(typed); err != nil {
		t.Fatal(err)
	}
	var screen bytes.Buffer
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = screen.ReadFrom(person) }) // until the program closes its end
	code = cli.Process{
		Args: args, Stdin: program, Stdout: program, Stderr: program, Now: w.clock,
		Getenv: func(name string) string {
			if name == "DIBS_STORE" {
				return "sqlite:names.db"
			}
			return env[name]
		},
		Open: func(_ context.Context, target cli.Target) (*dibs.Registry, error) {
			return core.Open(w.store, configs[target.Config])
		},
	}.Run()
	_ = program.Close()
	reading.Wait()
	return code, strings.ReplaceAll(screen.String(), "\r\n", "\n")
}

// On a terminal states have colours, unless the user wants none; nowhere else.
func TestColours(t *testing.T) {
	t.Parallel()
	notRaced(t)
	w := newWorld()
	if o := w.run("", "claim", "slug", "alice", "--entity", "user/1"); o.code != 0 {
		t.Fatal(o)
	}
	const green, red = "\x1b[32mactive\x1b[0m", "\x1b[31mdibs:\x1b[0m"
	for _, args := range [][]string{{"get", "slug", "alice"}, {"list"}, {"history", "slug", "alice"}, {"events"}} {
		if _, shown := w.atTerminal(t, "", nil, args...); !strings.Contains(shown, green) {
			t.Errorf("%v shows no colour: %q", args, shown)
		}
		for name, c := range map[string]struct {
			env  map[string]string
			flag string
		}{
			"--no-color": {nil, "--no-color"},
			"NO_COLOR":   {map[string]string{"NO_COLOR": "1"}, "--json=false"},
			"dumb":       {map[string]string{"TERM": "dumb"}, "--json=false"},
			"--json":     {nil, "--json"},
		} {
			if _, shown := w.atTerminal(t, "", c.env, append(args, c.flag)...); strings.Contains(shown, "\x1b") {
				t.Errorf("%v with %s: %q", args, name, shown)
			}
		}
		if o := w.run("", args...); strings.Contains(o.stdout+o.stderr, "\x1b") {
			t.Errorf("%v in a pipe: %q", args, o.stdout)
		}
	}
	if _, shown := w.atTerminal(t, "", nil, "get", "slug", "bob"); !strings.Contains(shown, red) {
		t.Errorf("an error shows no colour: %q", shown)
	}
}

var escape = regexp.MustCompile(`\x1b\[\d*m`)

// No line of a list is wider than the terminal.
func TestListsFitTheTerminal(t *testing.T) {
	t.Parallel()
	notRaced(t)
	w := newWorld()
	for value, id := range map[string]string{"Alice & Bob": "42", "carol-dave": "43"} {
		w.run("", "claim", "slug", value, "--entity", "wedding/"+id, "--correlation-id", "order-1001")
	}
	w.run("", "archive", "--entity", "wedding/43")
	for _, args := range [][]string{{"list"}, {"history", "slug", "carol-dave"}, {"events"}} {
		_, shown := w.atTerminal(t, "", nil, args...)
		for line := range strings.Lines(escape.ReplaceAllString(shown, "")) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
				t.Errorf("%v: %d columns: %s", args, n, line)
			}
		}
	}
	if _, shown := w.atTerminal(t, "", nil, "list"); !strings.Contains(shown, "too narrow for: id ") || !strings.Contains(shown, "archived") {
		t.Errorf("the list is %s", shown)
	}
}

// destructive are the commands that ask on a terminal, and what they do to a name of user/1.
var destructive = map[string][]string{
	"delete":       {"delete", "--entity", "user/1"},
	"decommission": {"decommission", "slug", "alice", "--entity", "user/1"},
}

func TestAskFirst(t *testing.T) {
	t.Parallel()
	notRaced(t)
	for name, args := range destructive {
		for _, c := range []struct {
			typed string
			yes   bool
			want  int
			state string
		}{
			{"n\n", false, cli.ExitUsage, "active"},
			{"\n", false, cli.ExitUsage, "active"},
			{"\x04", false, cli.ExitUsage, "active"}, // the end of the input
			{"y\n", false, cli.ExitOK, "free"},
			{"", true, cli.ExitOK, "free"},
		} {
			w := newWorld()
			w.run("", "claim", "slug", "alice", "--entity", "user/1")
			command := args
			if c.yes {
				command = append([]string{"--yes"}, args...)
				command[0], command[1] = command[1], command[0]
			}
			code, shown := w.atTerminal(t, c.typed, nil, command...)
			if asked := strings.Contains(shown, "slug:alice becomes free\nContinue? [y/N]"); code != c.want || asked == c.yes {
				t.Errorf("%s, typed %q: exit code %d, %s", name, c.typed, code, shown)
			}
			if o := w.run("", "get", "slug", "alice"); !strings.Contains(o.stdout, "state      "+c.state) && !strings.Contains(o.stdout, "state    "+c.state) {
				t.Errorf("%s, typed %q: %s", name, c.typed, o)
			}
		}
		w := newWorld()
		w.run("", "claim", "slug", "alice", "--entity", "user/1")
		if o := w.run("", args...); o.code != 0 || strings.Contains(o.stderr, "Continue") {
			t.Errorf("%s in a script: %s", name, o)
		}
		if code, shown := newWorld().atTerminal(t, "", nil, args...); code == 0 || strings.Contains(shown, "Continue") {
			t.Errorf("%s of nothing asks: %d %s", name, code, shown)
		}
	}
}
