package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/cli"
)

// required are arguments with which each command gets as far as its registry.
var required = map[string]string{
	"reserve": "slug a", "reserve-first": "slug a b", "confirm": "{id} --token t --entity user/1", "extend": "{id} --token t",
	"release": "{id} --token t", "claim": "slug a --entity user/1", "rename": "slug a --entity user/1",
	"transfer": "slug a --from user/1 --to user/2", "swap": "slug a=user/1 b=user/2", "decommission": "slug a --entity user/1",
	"entity": "user/1", "archive": "--entity user/1", "restore": "--entity user/1", "delete": "--entity user/1", "check": "slug a",
	"resolve": "slug a", "get": "slug a", "list": "", "history": "slug a", "who-held": "slug a --at 2026-03-01", "events": "", "stats": "",
	"sweep": "", "suspects": "", "settle": "{id} --absent", "rekey": "slug a", "recanonicalize": "slug --yes", "forget": "--entity user/1 --yes",
}

var (
	namedFlag = regexp.MustCompile(`--[a-z][a-z-]+`)
	otherVerb = regexp.MustCompile(`\bdibs ([a-z-]+)[^;:]*`)
)

// Every flag that a command names after an error is a flag of that command, or of the command that
// it names before it.
func TestHintsNameFlagsThatExist(t *testing.T) {
	t.Parallel()
	notRaced(t)
	checked := 0
	for verb, args := range required {
		for _, code := range cli.HintedCodes() {
			o := run(cli.Process{
				Args: append(strings.Fields(verb+" "+strings.ReplaceAll(args, "{id}", dibs.NameID("slug", "a").String())), "--store", "mem:"),
				Open: func(context.Context, cli.Target) (*dibs.Registry, error) {
					return nil, &dibs.Error{Code: code, Message: "so it is"}
				},
			})
			if !strings.Contains(o.stderr, string(code)) {
				t.Fatalf("%s does not open its registry: %s", verb, o)
			}
			for line := range strings.Lines(o.stderr) {
				elsewhere := otherVerb.FindStringSubmatch(line)
				for _, flag := range namedFlag.FindAllString(line, -1) {
					owner := verb
					if elsewhere != nil && strings.Contains(elsewhere[0], flag) {
						owner = elsewhere[1]
					}
					checked++
					if !cli.HasFlag(owner, strings.TrimPrefix(flag, "--")) {
						t.Errorf("%s, %s: %q, but %s has no %s", verb, code, strings.TrimSpace(line), owner, flag)
					}
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no hint names a flag")
	}
}

// Every flag in a text of this package is one that some command has.
func TestTextsNameFlagsThatExist(t *testing.T) {
	t.Parallel()
	notRaced(t)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`")
	checked, anyHasFlag := 0, cli.AnyHasFlag()
	for _, file := range append(files, "help.txt") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts := []string{string(source)}
		if file != "help.txt" {
			texts = quoted.FindAllString(string(source), -1)
		}
		for _, text := range texts {
			for _, flag := range namedFlag.FindAllString(text, -1) {
				checked++
				if !anyHasFlag(strings.TrimPrefix(flag, "--")) {
					t.Errorf("%s: no command has %s: %.120s", file, flag, text)
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d flags found", checked)
	}
}

// A command that only reads, or changes what must be there, does not create a store.
func TestNoStoreIsCreated(t *testing.T) {
	t.Parallel()
	notRaced(t)
	creating := []string{"reserve", "reserve-first", "claim", "rename"}
	for verb, args := range required {
		file := filepath.Join(t.TempDir(), "names.db")
		o := run(cli.Process{
			Args: append(strings.Fields(verb+" "+strings.ReplaceAll(args, "{id}", dibs.NameID("slug", "a").String())), "--store", "sqlite:"+file),
		})
		_, err := os.Stat(file)
		mayCreate := strings.Contains(" "+strings.Join(creating, " ")+" ", " "+verb+" ")
		if mayCreate != (err == nil) || !mayCreate && (o.code != cli.ExitNotFound || !strings.Contains(o.stderr, "there is no store at sqlite:"+file)) {
			t.Errorf("%s: file %v, %s", verb, err, o)
		}
	}
	for _, args := range []string{"keys list", "keys revoke a", "webhook list", "webhook show wh_a", "clock"} {
		file := filepath.Join(t.TempDir(), "names.db")
		o := run(cli.Process{Args: append(strings.Fields(args), "--store", "sqlite:"+file)})
		if _, err := os.Stat(file); err == nil || o.code != cli.ExitNotFound {
			t.Errorf("%s: file %v, %s", args, err, o)
		}
	}
}
