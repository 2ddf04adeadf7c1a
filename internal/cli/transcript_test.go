package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTranscripts runs the files of testdata as sessions at a terminal, each on a
// registry of its own. Lines that begin with "$ dibs" are commands, with what follows
// " <<< " as their input; "@ wait 5m" moves the clock; "@ file NAME <<< TEXT" writes a
// file; "#" is a comment. All else is the output, with "! " before lines of stderr; -update
// writes it.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	eachTranscript(t, "testdata/*.golden", func(t *testing.T, script string) string {
		return replay(t, newWorld(), script)
	})
}

// TestTranscriptsOverHTTP runs the same files through a client and a server: the output must be
// the same.
func TestTranscriptsOverHTTP(t *testing.T) {
	t.Parallel()
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
