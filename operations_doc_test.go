package dibs_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// opsPage is docs/operations.md, followed in a folder with the program that it builds.
type opsPage struct {
	*webPage
	folder string
	server *exec.Cmd
	log    strings.Builder
	steps  int
}

// The steps of the page lead where it says.
func TestOperationsPage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is linked")
	}
	p := &opsPage{webPage: &webPage{T: t, env: make(map[string]string)}, folder: t.TempDir()}
	t.Cleanup(p.end)
	const least = 13
	if p.follow(readText(t, "docs/operations.md")); p.steps < least {
		t.Errorf("%d steps were followed, the page has at least %d", p.steps, least)
	}
}

// follow runs the blocks that are marked to be run. Each other one says why it is not.
func (p *opsPage) follow(text string) {
	p.Helper()
	blocks := strings.Split(text, "```")
	for i := 1; i < len(blocks); i += 2 {
		body, found := strings.CutPrefix(blocks[i], "sh\n")
		if !found {
			continue
		}
		switch before := strings.TrimSpace(blocks[i-1]); {
		case strings.HasSuffix(before, "<!-- run -->"):
			shown := ""
			if i+2 < len(blocks) && strings.TrimSpace(blocks[i+1]) == "" {
				shown = blocks[i+2]
			}
			lines := strings.Split(strings.TrimSpace(body), "\n")
			for n, line := range lines {
				expected := ""
				if n == len(lines)-1 {
					expected = shown
				}
				p.steps++
				p.step(line, expected)
			}
		case !regexp.MustCompile(`<!-- not run: .+ -->$`).MatchString(before):
			p.Errorf("nobody runs this, and nobody says why:\n%s", body)
		}
	}
}

var assignment = regexp.MustCompile(`^(\w+)=\$\((.*)\)$`)

// step does what a line says.
func (p *opsPage) step(line, shown string) {
	p.Helper()
	assigned := assignment.FindStringSubmatch(line)
	switch {
	case assigned != nil:
		p.env[assigned[1]] = strings.TrimSpace(p.shell(p.folder, assigned[2]))
	case strings.HasPrefix(line, "go build "):
		p.shell(".", strings.Replace(line, "-o dibs", "-o "+filepath.Join(p.folder, "dibs"), 1))
	case strings.HasPrefix(line, "curl "):
		p.curl(p.words(line)[1:], shown)
	case strings.HasPrefix(line, "dibs serve "):
		p.serve(p.words(line)[1:])
	case strings.HasPrefix(line, "kill "):
		p.end()
	default:
		p.shell(p.folder, line)
	}
}

// shell runs a line in a folder, where dibs is what was built, and returns what it says.
func (p *opsPage) shell(folder, line string) string {
	p.Helper()
	shell := exec.CommandContext(p.Context(), "sh", "-euc", line)
	shell.Dir = folder
	shell.Env = append(os.Environ(), "PATH="+p.folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	failed := new(strings.Builder)
	shell.Stderr = failed
	out, err := shell.Output()
	if err != nil {
		p.Fatalf("%s: %v\n%s%s", line, err, out, failed)
	}
	return string(out)
}

// serve starts the server on any port, and waits until it says where it is.
func (p *opsPage) serve(args []string) {
	p.Helper()
	p.server = exec.Command(filepath.Join(p.folder, "dibs"), append(args, "--listen", "127.0.0.1:0")...)
	p.server.Dir = p.folder
	p.server.Stderr = &p.log
	out, err := p.server.StdoutPipe()
	if err != nil {
		p.Fatal(err)
	}
	if err := p.server.Start(); err != nil {
		p.Fatal(err)
	}
	p.url = ""
	for lines := bufio.NewScanner(out); p.url == "" && lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "Dibs is at "); ok {
			p.url, _, _ = strings.Cut(rest, ",")
		}
	}
	if p.url == "" {
		p.Fatal("the server does not say where it is")
	}
}

// end tells the server to end, and waits for it.
func (p *opsPage) end() {
	p.Helper()
	if p.server == nil {
		return
	}
	_ = p.server.Process.Signal(syscall.SIGTERM)
	if err := p.server.Wait(); err != nil {
		p.Errorf("the server ended with %v\n%s", err, p.log.String())
	}
	p.server = nil
}
