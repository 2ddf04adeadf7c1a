package cli_test

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/calldibs/dibs/internal/cli"
)

var controls = regexp.MustCompile(`\x1b\[\d*[A-Za-z]`)

// A bar never takes more than a row, whatever its text, also after the terminal has become narrower.
func TestBarsFitTheTerminal(t *testing.T) {
	t.Parallel()
	person, program := openTerminal(t)
	var screen bytes.Buffer
	var reading sync.WaitGroup
	lines := make(chan int, 1000)
	reading.Go(func() { // until the program closes its end
		part := make([]byte, 4096)
		for {
			n, err := person.Read(part)
			if screen.Write(part[:n]); err != nil {
				return
			}
			select {
			case lines <- bytes.Count(part[:n], []byte("\n")):
			default:
			}
		}
	})
	awaitLines := func(n int) {
		for n > 0 {
			n -= <-lines
		}
	}
	show, end := cli.ShowBar(program)
	show(strings.Repeat("a very long text ", 20))
	awaitLines(2)
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 50}); err != nil {
		t.Fatal(err)
	}
	awaitLines(2) // the first of them may have the former width
	show(strings.Repeat("narrow ", 40))
	awaitLines(2)
	end()
	_ = program.Close()
	reading.Wait()
	shown := controls.ReplaceAllString(screen.String(), "")
	for line := range strings.Lines(shown) {
		line = strings.TrimRight(line, "\r\n")
		most := 80
		if strings.Contains(line, "narrow") {
			most = 50
		}
		if n := len([]rune(line)); n >= most {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(shown, "very long") || !strings.Contains(shown, "narrow") {
		t.Errorf("it showed %q", shown)
	}
}
