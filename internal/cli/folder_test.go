package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/calldibs/dibs/internal/cli"
)

// folder is a terminal with files, in which commands open the engine themselves.
type folder struct {
	dir  string
	hook string // the last webhook that was seen, $HOOK in commands
}

var hookID = regexp.MustCompile(`wh_[a-z2-7]{20}`)

func (f *folder) wait(time.Duration) {}

func (f *folder) write(name, text string) error {
	return os.WriteFile(filepath.Join(f.dir, name), []byte(strings.ReplaceAll(text, "$DIR", f.dir)), 0o600)
}

// steadyText replaces dates, ids and secrets.
var steadyText = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`20\d\d-\d\d-\d\d \d\d:\d\d:\d\dZ`), "2026-03-01 12:00:00Z"},
	{regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ`), "2026-03-01T12:00:00.000Z"},
	{regexp.MustCompile(`"prefix": "[a-z2-7]{8}"`), `"prefix": "abcdefgh"`},
	{hookID, "wh_abcdefghijklmnopqrst"},
	{regexp.MustCompile(`whsec_[A-Za-z0-9+/=]{44}`), "whsec_A-SECRET"},
	{regexp.MustCompile(`(?m)^([a-z]+ +)[a-z2-7]{8}  `), "${1}abcdefgh  "},
}

// run runs a command, and replaces what differs between runs.
func (f *folder) run(stdin string, args ...string) outcome {
	for i := range args {
		args[i] = strings.NewReplacer("$DIR", f.dir, "$HOOK", f.hook).Replace(args[i])
	}
	o := run(cli.Process{Args: args, Stdin: strings.NewReader(stdin), Environ: map[string]string{}})
	if hook := hookID.FindString(o.stdout); hook != "" {
		f.hook = hook
	}
	for _, text := range []*string{&o.stdout, &o.stderr} {
		*text = strings.ReplaceAll(*text, f.dir, "$DIR")
		for _, r := range steadyText {
			*text = r.pattern.ReplaceAllString(*text, r.with)
		}
	}
	return o
}
