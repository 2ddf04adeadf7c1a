package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/cli"
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
		"unknown":  {[]string{"sreve"}, 1, "", `dibs: unknown command "sreve"`},
		"argument": {[]string{"demo", "extra"}, 1, "", `dibs: unknown command "extra"`},
		"flag":     {[]string{"demo", "--port"}, 1, "", "dibs: unknown flag: --port"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			code := cli.Run(c.args, &stdout, &stderr)
			if code != c.code || !strings.Contains(stdout.String(), c.stdout) || !strings.HasPrefix(stderr.String(), c.stderr) {
				t.Errorf("exit code %d\nstdout: %s\nstderr: %s", code, stdout.String(), stderr.String())
			}
			if strings.Contains(stdout.String(), "demo-customer") {
				t.Error("the second process of the demo is nobody's business")
			}
		})
	}
}
