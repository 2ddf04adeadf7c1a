//go:build unix

package torture_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/testdisk"
	"github.com/calldibs/dibs/internal/torture"
)

// config is a run of the test binary.
func config(t *testing.T, store string) torture.Config {
	t.Helper()
	cfg := torture.Config{
		Program: []string{os.Args[0]}, Env: []string{childEnv + "=1", "PATH=" + os.Getenv("PATH")},
		Store: store, Folder: t.TempDir(), Callers: 16,
	}
	if store == "etcd" {
		cfg.Etcd = etcdtest.Program(t)
	}
	return cfg
}

func mustRun(t *testing.T, cfg torture.Config) torture.Report {
	t.Helper()
	report, err := torture.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// notShort leaves a test out of the short form, which is for the race detector: TestSQLite and TestLiesAreFound have the
// goroutines of a run, and those of servers.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("the short form has other faults on one engine")
	}
}

// mustSurvive runs until each fault has happened, and fails the test if it has found something, or
// has not looked.
func mustSurvive(t *testing.T, cfg torture.Config, faults ...string) {
	t.Helper()
	cfg.Faults, cfg.Each = faults, 1
	mustBeRight(t, mustRun(t, cfg), faults...)
}

// mustBeRight fails the test if a run has found something, or has not looked.
func mustBeRight(t *testing.T, r torture.Report, faults ...string) {
	t.Helper()
	for _, v := range r.Violations {
		t.Errorf("%s: %s\n%s", v.Kind, v.What, strings.Join(v.Operations, "\n"))
	}
	// Unknown outcomes end a history early: a busy machine has many.
	short := r.Operations+r.Unavailable < 20*r.Histories && r.Unknown.Operations < 3*r.Histories
	if r.OK != (len(r.Violations) == 0) || r.Histories == 0 || r.Operations == 0 || short {
		t.Errorf("OK is %v, with %d histories and %d operations", r.OK, r.Histories, r.Operations)
	}
	if a := r.Audit; a.Events == 0 || a.Changes == 0 || a.Names < 3*r.Histories || a.Entities < 3*r.Histories {
		t.Errorf("the audit compared %+v", a)
	}
	if u := r.Unknown; u.Operations != u.Happened+u.Not+u.NoTrace {
		t.Errorf("of the unknown outcomes: %+v", u)
	}
	for _, name := range faults {
		i := slices.IndexFunc(r.Faults, func(f torture.FaultReport) bool { return f.Fault == name })
		if i < 0 || r.Faults[i].MaxMs < r.Faults[i].MedianMs || r.Faults[i].MaxMs == 0 {
			t.Errorf("the fault %s is missing: %+v", name, r.Faults)
		}
	}
	t.Logf("%d histories, %d operations, unknown %+v, audit %+v, faults %+v", r.Histories, r.Operations, r.Unknown, r.Audit, r.Faults)
}

// The short form of make torture: every fault of servers, and of the file.
func TestSQLite(t *testing.T) {
	t.Parallel()
	cfg := config(t, "sqlite")
	var doing []string
	cfg.Progress = func(p torture.Progress) { doing = append(doing, p.Doing) }
	faults := []string{"kill", "cut", "stop", "one-way", "delay", "lock"}
	if testing.Short() {
		faults = faults[:2]
	}
	mustSurvive(t, cfg, faults...)
	if !slices.Contains(doing, "histories") || !slices.Contains(doing, "audit") {
		t.Errorf("the progress is %v", doing)
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	notShort(t)
	cfg := config(t, "sqlite")
	cfg.Faults, cfg.Each = []string{"damage"}, 1
	r := mustRun(t, cfg)
	mustBeRight(t, r, "damage")
	if d := r.Damaged; d == nil || d.Copies == 0 || d.Copies != d.Refused+d.Named+d.Older+d.Lacking+d.Unharmed {
		t.Errorf("of the damaged copies: %+v", d)
	}
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	notShort(t)
	mustSurvive(t, config(t, "postgres"), "commit-lost", "serialization", "db-cut", "db-kill")
}

// Disks of private engines become full and read-only, and lose power. Only root can give them one.
func TestDisks(t *testing.T) {
	t.Parallel()
	notShort(t)
	for engine, faults := range map[string][]string{
		"sqlite":   {"disk-full", "read-only", "power"},
		"postgres": {"db-disk-full", "db-read-only", "db-power"},
		"etcd":     {"member-disk-full", "member-read-only", "member-power"},
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			cfg := config(t, engine)
			if _, why := testdisk.New(t); why != nil {
				cfg.Faults = faults
				if _, err := torture.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), why.Error()) {
					t.Errorf("got %v, want %v", err, why)
				}
				return
			}
			mustSurvive(t, cfg, faults...)
		})
	}
}

// A run ends after its time, and begins no more faults. A busy machine may not get to any.
func TestFor(t *testing.T) {
	t.Parallel()
	notShort(t)
	cfg := config(t, "sqlite")
	cfg.For, cfg.Faults = time.Second, []string{"delay"}
	r, err := torture.Run(t.Context(), cfg)
	// It may not even get to the end of a history.
	for (errors.Is(err, torture.ErrTooShort) || err == nil && r.Histories == 0) && cfg.For < time.Minute {
		cfg.For *= 2
		r, err = torture.Run(t.Context(), cfg)
	}
	if err != nil {
		t.Fatal(err)
	}
	mustBeRight(t, r)
	if r.Seconds < cfg.For.Seconds() {
		t.Errorf("it ended after %v s", r.Seconds)
	}
}

// The help and docs/testing.md have every fault.
func TestFaultsAreDocumented(t *testing.T) {
	t.Parallel()
	for path, quoted := range map[string]string{"../cli/help.txt": "\n  %s ", "../../docs/testing.md": "`%s`"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range torture.Faults() {
			if !strings.Contains(string(text), fmt.Sprintf(quoted, f.Name)) {
				t.Errorf("%s does not have %s", path, f.Name)
			}
		}
	}
}

// The number of histories ends a run, and the same seed names the same scope.
func TestHistories(t *testing.T) {
	t.Parallel()
	notShort(t)
	cfg := config(t, "sqlite")
	cfg.Histories, cfg.Seed, cfg.Faults = 5, 7, []string{}
	r := mustRun(t, cfg)
	mustBeRight(t, r)
	if r.Histories != 5 || r.Seed != 7 || len(r.Faults) != 0 {
		t.Errorf("%d histories with the seed %d and the faults %v", r.Histories, r.Seed, r.Faults)
	}
}

// A run leaves the files of a folder alone, and can use it again.
func TestFolder(t *testing.T) {
	t.Parallel()
	notShort(t)
	folder := t.TempDir()
	for _, name := range []string{"dibs.toml", "names.db", "server-1.log"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("panic: mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		cfg := config(t, "sqlite")
		cfg.Folder, cfg.Histories, cfg.Seed, cfg.Faults = folder, 1, 7, []string{}
		r := mustRun(t, cfg)
		mustBeRight(t, r)
		if _, err := os.Stat(filepath.Join(r.Folder, "server-1.log")); err != nil || filepath.Dir(r.Folder) != folder {
			t.Errorf("the logs are in %s: %v", r.Folder, err)
		}
	}
	for _, name := range []string{"dibs.toml", "names.db", "server-1.log"} {
		if content, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(content) != "panic: mine" {
			t.Errorf("%s has %q, %v", name, content, err)
		}
	}
}

// A store of the user's may have keys, a relative address, and names of a run with the same seed. Other
// names stay as they are.
func TestOwnStore(t *testing.T) {
	t.Parallel()
	notShort(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Rel(here, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store := "sqlite:" + filepath.Join(folder, "names.db")
	command := func(args ...string) string {
		var said strings.Builder
		p := cli.Process{Args: append(args, "--store", store), Stdout: &said, Stderr: &said, Getenv: func(string) string { return "" }}
		if code := p.Run(); code != 0 {
			t.Fatalf("dibs %v: exit code %d: %s", args, code, &said)
		}
		return said.String()
	}
	command("keys", "create", "owner", "--in", "*", "--may", "all")
	command("reserve", "slug", "mine", "--ttl", "1h", "--token", "the-token-of-the-owner")
	before := command("history", "slug", "mine", "--json")
	for range 2 {
		cfg := config(t, store)
		cfg.Folder, cfg.Histories, cfg.Seed, cfg.Faults = folder, 2, 7, []string{}
		r := mustRun(t, cfg)
		mustBeRight(t, r)
		if !strings.HasPrefix(r.Scope, "torture-7-") || !strings.Contains(command("list", "--limit", "1000"), r.Scope) {
			t.Errorf("the store has no names of the scope %q", r.Scope)
		}
	}
	if after := command("history", "slug", "mine", "--json"); after != before {
		t.Errorf("a name of the owner has the history %s, and had %s", after, before)
	}
}

// A run that is not possible says why, before anything happens.
func TestCheck(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*torture.Config){
		`unknown fault "kil"; did you mean kill?`: func(c *torture.Config) { c.Faults = []string{"kil"} },
		"1 to 16":              func(c *torture.Config) { c.Servers = -1 },
		"1 to 1,000":           func(c *torture.Config) { c.Callers = 2000 },
		"must not be negative": func(c *torture.Config) { c.For = -1 },
		"dibs torture etcd":    func(c *torture.Config) { c.Etcd = "/usr/bin/etcd" },
		"--each counts faults": func(c *torture.Config) { c.Each, c.Faults = 1, []string{} },
		"mysql":                func(c *torture.Config) { c.Store = "mysql://localhost" },
		"in memory":            func(c *torture.Config) { c.Store = "mem:" },
	} {
		cfg := config(t, "sqlite")
		change(&cfg)
		if err := cfg.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	cfg := config(t, "sqlite")
	cfg.Store, cfg.Faults = "etcd", []string{"quake"}
	if err := cfg.Check(); err == nil || !strings.Contains(err.Error(), "member-kill") || strings.Contains(err.Error(), "db-kill") || strings.Contains(err.Error(), "damage") {
		t.Errorf("got %v, want the faults of the engine", err)
	}
	for _, store := range []string{"sqlite", "sqlite:names.db"} {
		cfg := config(t, store)
		cfg.Faults = []string{"db-kill"}
		if err := cfg.Check(); err == nil || !strings.Contains(err.Error(), "dibs torture postgres") {
			t.Errorf("got %v", err)
		}
	}
	cfg = config(t, "sqlite")
	cfg.Faults = []string{"db-kill"}
	if _, err := torture.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), `the fault "db-kill" cannot happen to a private SQLite file`) {
		t.Errorf("got %v", err)
	}
	absent := filepath.Join(t.TempDir(), "mistyped.db")
	if _, err := torture.Run(t.Context(), config(t, "sqlite:"+absent)); err == nil || !strings.Contains(err.Error(), "there is no store at") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(absent); err == nil {
		t.Error("it was created")
	}
	cfg = config(t, "sqlite")
	cfg.Program = []string{"false"} // it is no server
	if _, err := torture.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "; the logs of the servers are in "+cfg.Folder) {
		t.Errorf("got %v", err)
	}
}
