package cli_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/server"
)

// TestTranscripts runs the files of testdata as sessions at a terminal, each on a
// registry of its own. Lines that begin with "$ dibs" are commands, with what follows
// " <<< " as their input; "@ wait 5m" moves the clock; "@ file NAME <<< TEXT" writes a
// file; "#" is a comment. All else is the output, with "! " before lines of stderr; -update
// writes it.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	notRaced(t)
	eachTranscript(t, "testdata/*.golden", func(t *testing.T, script string) string {
		return replay(t, newWorld(), script)
	})
}

// TestTranscriptsOverHTTP runs the same files through a client and a server: the output must be
// the same.
func TestTranscriptsOverHTTP(t *testing.T) {
	t.Parallel()
	notRaced(t)
	if *update {
		t.Skip("only TestTranscripts writes the files")
	}
	eachTranscript(t, "testdata/*.golden", func(t *testing.T, script string) string {
		return replay(t, newServedWorld(t), script)
	})
}

// TestTranscriptsOfFiles runs commands that open the engine themselves. $DIR is a temporary folder,
// $HOOK the last webhook.
func TestTranscriptsOfFiles(t *testing.T) {
	t.Parallel()
	notRaced(t)
	eachTranscript(t, "testdata/files/*.golden", func(t *testing.T, script string) string {
		return replay(t, &folder{dir: t.TempDir()}, script)
	})
}

func eachTranscript(t *testing.T, pattern string, replayed func(*testing.T, string) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".golden"), func(t *testing.T) {
			t.Parallel()
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel("testdata", file)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name, replayed(t, string(script)))
		})
	}
}

// terminal is where the commands of a transcript run.
type terminal interface {
	run(stdin string, args ...string) outcome
	wait(time.Duration)
	write(name, text string) error
}

// replay runs a transcript and returns it with the present output.
func replay(t *testing.T, at terminal, script string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		command, stdin, _ := strings.Cut(line, " <<< ")
		stdin = strings.ReplaceAll(stdin, `\n`, "\n")
		switch {
		case strings.HasPrefix(line, "#"):
			fmt.Fprintf(&b, "%s\n", line)
		case strings.HasPrefix(line, "@ wait "):
			d, err := time.ParseDuration(strings.TrimPrefix(line, "@ wait "))
			if err != nil {
				t.Fatal(err)
			}
			at.wait(d)
			fmt.Fprintf(&b, "%s\n\n", line)
		case strings.HasPrefix(line, "@ file "):
			if err := at.write(strings.TrimPrefix(command, "@ file "), stdin); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s\n\n", line)
		case strings.HasPrefix(line, "$ dibs "):
			o := at.run(stdin, words(strings.TrimPrefix(command, "$ dibs "))...)
			fmt.Fprintf(&b, "%s\n%s\n", line, o)
		}
	}
	return b.String()
}

// words splits a command as a shell does, as far as transcripts need it.
func words(command string) []string {
	var list []string
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			list = append(list, part)
			continue
		}
		list = append(list, strings.Fields(part)...)
	}
	return list
}

func (o outcome) String() string {
	var b strings.Builder
	b.WriteString(o.stdout)
	for line := range strings.Lines(o.stderr) {
		fmt.Fprintf(&b, "! %s\n", strings.TrimSuffix(line, "\n"))
	}
	if o.code != 0 {
		fmt.Fprintf(&b, "[exit %d]\n", o.code)
	}
	return steady(b.String())
}

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
	{regexp.MustCompile(`, in \d+(\.\d+)?m?s\.`), ", in 0s."},
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

// serve starts a server, and returns its URL. An empty key means that it requires none.
func serve(t *testing.T, cfg server.Config, key string) string {
	t.Helper()
	if key != "" {
		cfg.Authenticate = func(_ context.Context, secret string) (access.Caller, error) {
			if secret != key {
				return access.Caller{}, auth.ErrUnknownKey
			}
			return access.Everything, nil
		}
	}
	s := httptest.NewServer(server.New(cfg))
	t.Cleanup(s.Close)
	return s.URL
}

// servedWorld is a world in which each command calls a new server.
type servedWorld struct {
	*world
	served *dibs.Registry // behind the last server
}

func newServedWorld(t *testing.T) *servedWorld {
	t.Helper()
	w := &servedWorld{world: newWorld()}
	w.open = func(registry *dibs.Registry) (*dibs.Registry, error) {
		w.served = registry
		return dibsclient.Dial(serve(t, server.Config{Registry: registry, Store: w.store}, ""), dibsclient.Options{})
	}
	return w
}

// run runs a command and closes its registry, so that everything is written.
func (w *servedWorld) run(stdin string, args ...string) outcome {
	w.served = nil
	o := w.world.run(stdin, args...)
	if w.served != nil {
		_ = w.served.Close()
	}
	return o
}
