package cli_test

import (
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/cli"
)

// A server does not start with a misspelt variable; other commands warn of it.
func TestMisspeltVariables(t *testing.T) {
	t.Parallel()
	environ := map[string]string{"DIBS_LISEN": ":1", "DIBS_STORE": "mem:"}
	o := run(cli.Process{Args: []string{"serve"}, Environ: environ})
	if o.code != cli.ExitUsage || o.stderr != "dibs: DIBS_LISEN: unknown variable; did you mean DIBS_LISTEN?\n" {
		t.Errorf("serve: exit %d, %s", o.code, o.stderr)
	}
	o = run(cli.Process{Args: []string{"config", "check"}, Environ: environ})
	if o.code != cli.ExitUsage || !strings.Contains(o.stderr, "did you mean DIBS_LISTEN?") {
		t.Errorf("config check: exit %d, %s", o.code, o.stderr)
	}
	environ = map[string]string{"DIBS_STOER": "mem:"}
	o = run(cli.Process{Args: []string{"list"}, Environ: environ, Getenv: func(name string) string { return environ[name] }})
	if o.code != cli.ExitUsage || !strings.HasPrefix(o.stderr, "dibs: DIBS_STOER: unknown variable; did you mean DIBS_STORE?\ndibs: no store or server") {
		t.Errorf("list: exit %d, %s", o.code, o.stderr)
	}
	o = run(cli.Process{Args: []string{"list", "--store", "mem:"}, Environ: environ})
	if o.code != cli.ExitOK || !strings.Contains(o.stderr, "DIBS_STOER") {
		t.Errorf("list of a store: exit %d, %s", o.code, o.stderr)
	}
}
