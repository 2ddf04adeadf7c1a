package cli_test

import (
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/cli"
)

// What cannot be tortured is refused before anything starts.
func TestTortureUsage(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`unknown engine "mysql": sqlite, postgres, etcd`:  {"mysql"},
		`"sqlite" is a private engine: leave --store out`: {"sqlite", "--store", "sqlite:/tmp/a.db"},
		"torture starts servers of its own":               {"--server", "http://localhost:8080"},
		"torture has policies of its own":                 {"--config", "dibs.toml"},
		`unknown fault "kil"; did you mean kill?`:         {"--faults", "stop,kil"},
		"20 servers: there may be 1 to 16":                {"--servers", "20"},
		"the length of a run must not be negative":        {"--for", "-1s"},
		"unexpected argument":                             {"sqlite", "postgres"},
		"--servers and --callers must be at least 1":      {"--servers", "0"},
		"dibs torture postgres":                           {"--faults", "db-kill"},
		`unknown fault "quake"; there are kill, stop,`:    {"--faults", "kill, quake"},
		"--etcd is for private etcd members":              {"--etcd", "/usr/bin/etcd"},
		"--each counts faults":                            {"--each", "2", "--faults", "none"},
	} {
		o := run(cli.Process{Args: append([]string{"torture"}, args...)})
		if o.code != 2 || !strings.Contains(o.stderr, want) {
			t.Errorf("%v: exit code %d, %s", args, o.code, o.stderr)
		}
	}
}
