package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/memstore"
)

// TestExitCodes checks the exit code of every error.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	notRaced(t)
	for code, want := range map[dibs.Code]int{
		dibs.CodeNameTaken:        cli.ExitTaken,
		dibs.CodeNotFound:         cli.ExitNotFound,
		dibs.CodeEntityNotFound:   cli.ExitNotFound,
		dibs.CodeLost:             cli.ExitRefused,
		dibs.CodeAlreadyExpired:   cli.ExitRefused,
		dibs.CodeAlreadyConfirmed: cli.ExitRefused,
		dibs.CodeAlreadyReleased:  cli.ExitRefused,
		dibs.CodeEntityHasName:    cli.ExitRefused,
		dibs.CodeEntityArchived:   cli.ExitRefused,
		dibs.CodeNotOwner:         cli.ExitRefused,
		dibs.CodeVersionMismatch:  cli.ExitRefused,
		dibs.CodeInvalidValue:     cli.ExitRefused,
		dibs.CodeReservedWord:     cli.ExitRefused,
		dibs.CodeInvalidNamespace: cli.ExitRefused,
		dibs.CodeInvalidToken:     cli.ExitRefused,
		dibs.CodeInvalidEntity:    cli.ExitRefused,
		dibs.CodeInvalidTTL:       cli.ExitRefused,
		dibs.CodeTTLTooLong:       cli.ExitRefused,
		dibs.CodeTooLarge:         cli.ExitRefused,
		dibs.CodeTooManyHolds:     cli.ExitRefused,
		dibs.CodeOutcomeUnknown:   cli.ExitUnavailable,
		dibs.CodeUnavailable:      cli.ExitUnavailable,
	} {
		checkExit(t, &dibs.Error{Code: code, Message: "so it is"}, want, string(code))
	}
	checkExit(t, fmt.Errorf("dialling: %w", dibs.Unavailable(errors.New("no route"))), cli.ExitUnavailable, "UNAVAILABLE")
	checkExit(t, fmt.Errorf("%w: in a transaction", dibs.ErrUnsupported), cli.ExitRefused, "UNSUPPORTED")
	checkExit(t, fmt.Errorf("%w: x", dibs.ErrBadCursor), cli.ExitRefused, "INVALID_CURSOR")
	checkExit(t, errors.New("the disk is on fire"), cli.ExitUnexpected, "UNEXPECTED")
}

func checkExit(t *testing.T, failure error, want int, code string) {
	t.Helper()
	p := cli.Process{
		Args: []string{"list", "--store", "mem:"},
		Open: func(context.Context, cli.Target) (*dibs.Registry, error) { return nil, failure },
	}
	o := run(p)
	if o.code != want || o.stdout != "" || !strings.HasPrefix(o.stderr, "dibs: ") || strings.HasPrefix(o.stderr, "dibs: dibs:") {
		t.Errorf("%v: exit code %d, want %d\nstdout: %s\nstderr: %s", failure, o.code, want, o.stdout, o.stderr)
	}
	p.Args = append(p.Args, "--json")
	o = run(p)
	if o.code != want || o.stderr != "" || !strings.Contains(o.stdout, `"code": "`+code+`"`) {
		t.Errorf("%v with --json: exit code %d, want %d\nstdout: %s\nstderr: %s", failure, o.code, want, o.stdout, o.stderr)
	}
}

// TestTarget checks which registry a command opens.
func TestTarget(t *testing.T) {
	t.Parallel()
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, []byte("key-of-the-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args   []string
		env    map[string]string
		want   cli.Target
		stderr string
	}{
		"nothing":   {stderr: "dibs: no store or server"},
		"flag":      {args: []string{"--store", "mem:"}, want: cli.Target{Store: "mem:"}},
		"env":       {env: map[string]string{"DIBS_STORE": "mem:", "DIBS_CONFIG": "a.toml"}, want: cli.Target{Store: "mem:", Config: "a.toml"}},
		"flag wins": {args: []string{"--store", "mem:", "--config", "b.toml"}, env: map[string]string{"DIBS_STORE": "x:", "DIBS_SERVER": "http://a", "DIBS_CONFIG": "a.toml"}, want: cli.Target{Store: "mem:", Config: "b.toml"}},
		"server":    {args: []string{"--server", "http://a", "--key", "k"}, env: map[string]string{"DIBS_STORE": "x:", "DIBS_KEY": "e"}, want: cli.Target{Server: "http://a", Key: "k"}},
		"key":       {env: map[string]string{"DIBS_SERVER": "http://a", "DIBS_KEY": "e", "DIBS_KEY_FILE": keyFile}, want: cli.Target{Server: "http://a", Key: "e"}},
		"key file":  {env: map[string]string{"DIBS_SERVER": "http://a", "DIBS_KEY_FILE": keyFile, "DIBS_CONFIG": "a.toml"}, want: cli.Target{Server: "http://a", Key: "key-of-the-file"}},
		"no file":   {env: map[string]string{"DIBS_SERVER": "http://a", "DIBS_KEY_FILE": keyFile + "x"}, stderr: "dibs: DIBS_KEY_FILE"},
		"both":      {args: []string{"--store", "mem:", "--server", "http://a"}, stderr: "dibs: --store and --server"},
		"both env":  {env: map[string]string{"DIBS_STORE": "mem:", "DIBS_SERVER": "http://a"}, stderr: "dibs: DIBS_STORE and DIBS_SERVER"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got cli.Target
			o := run(cli.Process{
				Args: append([]string{"list"}, c.args...), Getenv: func(name string) string { return c.env[name] },
				Open: func(_ context.Context, target cli.Target) (*dibs.Registry, error) {
					got = target
					return core.Open(memstore.New(memstore.Config{}), dibs.Config{})
				},
			})
			if got != c.want || !strings.HasPrefix(o.stderr, c.stderr) || (o.code == 0) != (c.stderr == "") {
				t.Errorf("target %+v, want %+v\nexit code %d, stderr: %s", got, c.want, o.code, o.stderr)
			}
		})
	}
}

// TestOpen checks the errors of opening a registry.
func TestOpen(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	wrong := filepath.Join(folder, "wrong.toml")
	if err := os.WriteFile(wrong, []byte("[default]\nminTTL = 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args   []string
		code   int
		stderr string
	}{
		"memory":  {[]string{"--store", "mem:"}, 0, ""},
		"no file": {[]string{"--store", "sqlite:"}, 2, "dibs: sqlite: needs the path of a file"},
		"engine":  {[]string{"--store", "oracle:x"}, 2, `dibs: unknown engine "oracle"`},
		"folder":  {[]string{"--store", "sqlite:" + folder}, 1, "dibs: "},
		"server":  {[]string{"--server", "http://127.0.0.1:1"}, 6, "dibs: UNAVAILABLE: "},
		"address": {[]string{"--server", "names.example.com"}, 2, "dibs: the server's address must begin with http"},
		"config":  {[]string{"--store", "mem:", "--config", filepath.Join(folder, "x.toml")}, 2, "dibs: " + filepath.Join(folder, "x.toml") + ": cannot be read"},
		"wrong":   {[]string{"--store", "mem:", "--config", wrong}, 2, "dibs: " + wrong + ":2: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := run(cli.Process{Args: append([]string{"list"}, c.args...)})
			if o.code != c.code || !strings.HasPrefix(o.stderr, c.stderr) {
				t.Errorf("exit code %d, want %d, stderr: %s", o.code, c.code, o.stderr)
			}
		})
	}
}
