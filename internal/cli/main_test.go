package cli_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/memstore"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) {
	flag.Parse()
	// The width of columns must not depend on the locale.
	text.OverrideRuneWidthEastAsianWidth(false)
	etcdtest.Main(m)
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run go test ./internal/cli -update)", err)
	}
	if string(want) != got {
		t.Errorf("%s differs (run go test ./internal/cli -update and look at the difference)\n--- got\n%s\n--- want\n%s", path, got, want)
	}
}

// outcome is the result of one command.
type outcome struct {
	code           int
	stdout, stderr string
}

func run(p cli.Process) outcome {
	var stdout, stderr bytes.Buffer
	p.Stdout, p.Stderr = &stdout, &stderr
	code := p.Run()
	return outcome{code, stdout.String(), stderr.String()}
}

// world is an engine with a manual clock that outlives the commands.
type world struct {
	store unclosed
	now   time.Time
	// open wraps the registry of a command. Nil means no wrapping.
	open func(*dibs.Registry) (*dibs.Registry, error)
}

// unclosed is an engine that a command cannot close.
type unclosed struct{ *memstore.Store }

func (unclosed) Close() error { return nil }

func newWorld() *world {
	w := &world{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	w.store = unclosed{memstore.New(memstore.Config{Now: w.clock})}
	return w
}

func (w *world) clock() time.Time { return w.now }

func (w *world) wait(d time.Duration) { w.now = w.now.Add(d) }

func (w *world) write(string, string) error { return errors.New("files are not supported here") }

// run runs one command. The --config of a command is a key of configs.
func (w *world) run(stdin string, args ...string) outcome {
	return run(cli.Process{
		Args: args, Stdin: strings.NewReader(stdin), Now: w.clock,
		Getenv: func(name string) string { return map[string]string{"DIBS_STORE": "sqlite:names.db"}[name] },
		Open: func(_ context.Context, target cli.Target) (*dibs.Registry, error) {
			registry, err := core.Open(w.store, configs[target.Config])
			if err != nil || w.open == nil {
				return registry, err
			}
			return w.open(registry)
		},
	})
}

var configs = map[string]dibs.Config{
	"quarantine.toml": {Default: dibs.Policy{Quarantine: 240 * time.Hour}},
	"many.toml":       {Default: dibs.Policy{ManyPerEntity: true}},
	"words.toml":      {Default: dibs.Policy{ReservedWords: dibs.WordList("admin", "root")}},
	"lower.toml":      {Default: dibs.Policy{Profile: lower{}}},
	"blind.toml":      {Default: dibs.Policy{Blind: []dibs.BlindKey{oldKey}}},
	"rekeyed.toml":    {Default: dibs.Policy{Blind: []dibs.BlindKey{newKey, oldKey}}},
	"witness.toml": {Default: dibs.Policy{Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) {
		return dibs.Unknown, nil
	}}},
}

var (
	oldKey = dibs.BlindKey{ID: "old", Secret: bytes.Repeat([]byte{7}, 32)}
	newKey = dibs.BlindKey{ID: "new", Secret: bytes.Repeat([]byte{8}, 32)}
)

// lower is a profile for tests: it ignores case and refuses blanks.
type lower struct{}

func (lower) Name() string { return "lower/1" }

func (lower) Canonical(value string) (string, error) {
	if at := strings.IndexByte(value, ' '); at >= 0 {
		return "", &dibs.Refusal{Rule: "blank", Problem: "has a blank", At: at, Try: strings.ReplaceAll(value, " ", "-")}
	}
	return strings.ToLower(value), nil
}

// steady replaces what differs from run to run.
func steady(s string) string {
	for _, r := range []struct{ pattern, with string }{
		{`\b[A-Z2-7]{26}\b`, "A-TOKEN-MADE-BY-THE-TOOL00"},
		{`"tookMs": \d+`, `"tookMs": 0`},
		{`took(\s+)\S+`, `took${1}0s`},
		{`\bdibs_[0-9a-zA-Z_-]{16,}`, "dibs_A-SECRET"},
	} {
		s = regexp.MustCompile(r.pattern).ReplaceAllString(s, r.with)
	}
	return s
}

// notRaced skips a test in the short form, which the race detector runs: its commands come one after the other, so that the
// detector finds nothing, and takes ten times as long.
func notRaced(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("nothing is concurrent")
	}
}
