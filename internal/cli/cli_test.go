package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/config"
	"github.com/calldibs/dibs/internal/wire"
)

func TestRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		"nothing":  {nil, 0, "demo", ""},
		"help":     {[]string{"demo", "--help"}, 0, "Nothing is left behind", ""},
		"unknown":  {[]string{"sreve"}, 2, "", `dibs: unknown command "sreve"`},
		"argument": {[]string{"demo", "extra"}, 2, "", `dibs: unexpected argument "extra"`},
		"flag":     {[]string{"demo", "--port"}, 2, "", "dibs: unknown flag: --port"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(cli.Process{Args: c.args})
			if o.code != c.code || !strings.Contains(o.stdout, c.stdout) || !strings.HasPrefix(o.stderr, c.stderr) {
				t.Errorf("exit code %d\nstdout: %s\nstderr: %s", o.code, o.stdout, o.stderr)
			}
			if strings.Contains(o.stdout, "demo-customer") {
				t.Error("the hidden command of the demo is shown")
			}
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	notRaced(t)
	golden(t, "help/dibs.txt", run(cli.Process{Args: []string{"--help"}}).stdout)
	verbs := cli.VerbNames()
	for _, path := range cli.HelpPaths() {
		if !slices.Contains(append(verbs, "dibs", "demo-customer", "manual"), path) {
			t.Errorf("help.txt has %q, which is not a command", path)
		}
	}
	for _, verb := range verbs {
		if strings.HasPrefix(verb, "completion") {
			continue // a command of cobra
		}
		o := run(cli.Process{Args: append(strings.Fields(verb), "--help")})
		if o.code != 0 || o.stderr != "" {
			t.Errorf("%s: exit code %d, %s", verb, o.code, o.stderr)
		}
		golden(t, "help/"+strings.ReplaceAll(verb, " ", "-")+".txt", o.stdout)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	o := run(cli.Process{Args: []string{"__complete", "list", "--state", "a"}})
	if !strings.Contains(o.stdout, "active\nalias\n") {
		t.Errorf("states: %s", o.stdout)
	}
	o = run(cli.Process{Args: []string{"__complete", "re"}})
	for _, verb := range []string{"reserve", "reserve-first", "release", "rename", "restore", "rekey", "recanonicalize", "resolve"} {
		if !strings.Contains(o.stdout, verb+"\t") {
			t.Errorf("%s is not offered: %s", verb, o.stdout)
		}
	}
}

// The sample is a valid configuration.
func TestSample(t *testing.T) {
	t.Parallel()
	sample := run(cli.Process{Args: []string{"config", "sample"}})
	path := filepath.Join(t.TempDir(), "dibs.toml")
	if err := os.WriteFile(path, []byte(sample.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	o := run(cli.Process{Args: []string{"config", "check", path}, Environ: map[string]string{}})
	if sample.code != 0 || !strings.Contains(sample.stdout, "#listen = ") || o.code != 0 {
		t.Errorf("exit codes %d and %d\n%s%s", sample.code, o.code, o.stdout, o.stderr)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"alice":        "alice",
		"日本語 é":        "日本語 é",
		"a\x1b[31mb":   `a\x1b[31mb`,
		"a\u202eb":     `a\u202eb`,
		"a\u200bb":     `a\u200bb`,
		"two\nlines":   "two\nlines",
		"👩\u200d👧":     "👩\u200d👧",
		"bad \xff end": "bad \ufffd end",
	} {
		if got := cli.Clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Both formats of the log write a duration with its unit.
func TestLogWritesDurationsInWords(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"text": ` after=13.507s`, "json": `"after":"13.507s"`} {
		var out strings.Builder
		cli.NewLog(&out, &config.Config{LogFormat: format}).Info("the store works again", "after", 13507*time.Millisecond)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s, want %s", format, out.String(), want)
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		1500 * time.Microsecond:         "2ms",
		59 * time.Second:                "59s",
		4*time.Minute + 59*time.Second:  "4m59s",
		5 * time.Minute:                 "5m",
		10 * time.Hour:                  "10h",
		20*time.Hour + 10*time.Minute:   "20h10m",
		71*time.Hour + 59*time.Minute:   "71h59m",
		10*24*time.Hour - time.Second:   "9d",
		time.Minute + time.Millisecond:  "1m",
		time.Hour + 5*time.Second:       "1h0m5s",
		90 * time.Minute:                "1h30m",
		time.Second + time.Millisecond:  "1s",
		3*24*time.Hour + 40*time.Second: "3d",
	} {
		if got := cli.Span(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// onlyInPlans are commands that "dibs apply" runs, and no command of their own.
var onlyInPlans = []string{"reserveAll"}

// Every command of the registry is a command of the program, named by its op: reserveFirst is
// "dibs reserve-first".
func TestEveryCommandIsInTheProgram(t *testing.T) {
	t.Parallel()
	names := cli.VerbNames()
	for _, op := range wire.Ops() {
		var name strings.Builder
		for _, r := range op {
			if unicode.IsUpper(r) {
				name.WriteByte('-')
			}
			name.WriteRune(unicode.ToLower(r))
		}
		if slices.Contains(names, name.String()) == slices.Contains(onlyInPlans, op) {
			t.Errorf("%s: session.root needs a command %q, or the op belongs to onlyInPlans", op, name.String())
		}
	}
}
