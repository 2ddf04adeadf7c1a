package docs_test

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

// opsPage runs the steps of docs/operations.md in a folder, with the program that they build.
type opsPage struct {
	*webPage
	folder string
	server *exec.Cmd
	log    strings.Builder
	steps  int
}

// The steps of the page work.
func TestOperationsPage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a program")
	}
	p := &opsPage{webPage: &webPage{T: t, env: make(map[string]string)}, folder: t.TempDir()}
	t.Cleanup(p.end)
	const least = 13
	if p.follow(readText(t, "docs/operations.md")); p.steps < least {
		t.Errorf("only %d steps ran, want at least %d", p.steps, least)
	}
	p.nightly()
}

// nightly runs the nightly job beside the server of the page. It leaves a backup, and what the alerts look at.
func (p *opsPage) nightly() {
	p.Helper()
	job, err := filepath.Abs(filepath.Join(root, "ops/nightly.sh"))
	if err != nil {
		p.Fatal(err)
	}
	p.shell(p.folder, "mkdir backups metrics")
	p.shell(p.folder, "DIBS_STORE=sqlite:dibs.db DIBS_CONFIG=dibs.toml DIBS_BACKUPS=backups DIBS_METRICS=metrics sh "+job)
	p.shell(p.folder, "dibs verify --store sqlite:$(ls backups/*.db) --config dibs.toml")
	got := p.shell(p.folder, "cat metrics/*")
	if !regexp.MustCompile(`^dibs_backup_timestamp_seconds \d+\ndibs_verify_exit_code 0\ndibs_verify_timestamp_seconds \d+\n$`).MatchString(got) {
		p.Errorf("the nightly job left %q", got)
	}
	out := p.shell(p.folder, "DIBS_STORE=sqlite:dibs.db DIBS_CONFIG=dibs.toml DIBS_BACKUPS=nowhere DIBS_METRICS=metrics sh "+job+" >&2 || echo $?")
	if strings.TrimSpace(out) != "1" {
		p.Errorf("no folder for backups: exit code %q, want 1", out)
	}
}

// follow runs the shell blocks with the mark "run". All others need the mark "not run" and a reason.
func (p *opsPage) follow(text string) {
	p.Helper()
	blocks := blocksOf(text)
	for i, b := range blocks {
		if b.kind != "sh" {
			continue
		}
		switch before := strings.TrimSpace(b.before); {
		case strings.HasSuffix(before, "<!-- run -->"):
			lines := strings.Split(strings.TrimSpace(b.body), "\n")
			for n, line := range lines {
				var expected block
				if n == len(lines)-1 {
					expected = shownBehind(blocks, i)
				}
				p.steps++
				p.step(line, expected)
			}
		case !regexp.MustCompile(`<!-- not run: .+ -->$`).MatchString(before):
			p.Errorf("the block is marked neither <!-- run --> nor <!-- not run: why -->:\n%s", b.body)
		}
	}
}

// The messages that the page quotes are in the code.
func TestOperationsPageQuotesMessages(t *testing.T) {
	t.Parallel()
	code := readFiles(t, notTest, "*.go", "internal/*/*.go", "*store/*.go")
	quoted := regexp.MustCompile("`([a-z]+(?: [a-z]+)+)`").FindAllStringSubmatch(readText(t, "docs/operations.md"), -1)
	checked := 0
	for _, m := range quoted {
		program, _, _ := strings.Cut(m[1], " ")
		if program == "dibs" || strings.HasSuffix(program, "ctl") || program == "etcdutl" {
			continue
		}
		if checked++; !strings.Contains(code, m[1]) {
			t.Errorf("no code has the message %q", m[1])
		}
	}
	if checked < 10 {
		t.Errorf("the page quotes only %d messages", checked)
	}
}

var assignment = regexp.MustCompile(`^(\w+)=\$\((.*)\)$`)

// step runs a line. After curl it compares the answer with shown.
func (p *opsPage) step(line string, shown block) {
	p.Helper()
	assigned := assignment.FindStringSubmatch(line)
	switch {
	case assigned != nil:
		p.env[assigned[1]] = strings.TrimSpace(p.shell(p.folder, assigned[2]))
	case strings.HasPrefix(line, "go build "):
		p.build(line)
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

// build checks that a line builds a program, and uses the test binary instead: to link it takes long, and every test of a page
// would do it.
func (p *opsPage) build(line string) {
	p.Helper()
	pkg, found := strings.CutPrefix(line, "go build -o dibs ")
	if kind := p.shell(root, "go list -f '{{.Name}}' "+pkg); !found || kind != "main\n" {
		p.Fatalf("%s: the package is %s", line, kind)
	}
	p.addDibs()
}

// shell runs a line in a folder and returns its output. In it, dibs is the program that was built.
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

// serve starts the server on any port and waits until it prints its address.
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
	p.url = readAddress(p.T, bufio.NewScanner(out))
}

// end stops the server and waits for it.
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
