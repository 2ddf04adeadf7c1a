package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/config"
)

// webPage runs the calls of a page, in order, on a server of its own.
type webPage struct {
	*testing.T
	url   string            // of the server, in place of localhost:8080
	store string            // its file, in place of dibs.db
	env   map[string]string // variables of the shell
	ran   int
}

// The calls of these pages have the answers that the pages show. Package proxytest runs
// the configurations of docs/proxies.md.
func TestCalls(t *testing.T) {
	t.Parallel()
	for path, atLeast := range map[string]int{"README.md": 3, "docs/server.md": 15, "docs/proxies.md": 3} {
		t.Run(path, func(t *testing.T) { t.Parallel(); runPage(t, path, atLeast) })
	}
}

// runPage runs the shell blocks of a page. The block behind a shell block shows the
// answer to its last call.
func runPage(t *testing.T, path string, atLeast int) {
	t.Helper()
	p := &webPage{T: t, store: filepath.Join(t.TempDir(), "dibs.db"), env: make(map[string]string)}
	p.url = serveProcess(t, p.store)
	blocks := blocksOf(readText(t, path))
	for i, b := range blocks {
		if b.kind == "sh" {
			p.runBlock(b.body, shownBehind(blocks, i))
		}
	}
	if p.ran < atLeast {
		t.Errorf("only %d calls ran, want at least %d", p.ran, atLeast)
	}
}

// runBlock runs the commands of a block.
func (p *webPage) runBlock(body string, shown block) {
	p.Helper()
	commands := strings.Split(strings.TrimSpace(strings.ReplaceAll(body, "\\\n", " ")), "\n")
	for i, line := range commands {
		words := p.words(line)
		switch {
		case words[0] == "curl":
			var expected block
			if i == len(commands)-1 {
				expected = shown
			}
			p.curl(words[1:], expected)
		case words[0] == "dibs" && words[1] == "keys":
			p.makeKey(words[1:])
		case words[0] == "dibs" && words[1] == "serve":
			p.checkFlags(words[2:])
		case words[0] != "go" && words[0] != "make":
			p.Errorf("no test can run %q", line)
		}
	}
}

var shellWord = regexp.MustCompile(`'([^']*)'|"([^"]*)"|(\S+)`)

// words splits a line as a shell does, as far as the pages need that.
func (p *webPage) words(line string) (words []string) {
	for _, m := range shellWord.FindAllStringSubmatch(line, -1) {
		word := m[1] + os.Expand(m[2], func(name string) string { return p.env[name] }) + m[3]
		words = append(words, strings.ReplaceAll(word, "sqlite:dibs.db", "sqlite:"+p.store))
	}
	return words
}

// makeKey runs a command about keys and keeps the secret in DIBS_KEY.
func (p *webPage) makeKey(args []string) {
	p.Helper()
	var out, failed strings.Builder
	if code := (cli.Process{Args: args, Stdout: &out, Stderr: &failed}).Run(); code != 0 {
		p.Fatalf("%q: %s", args, failed.String())
	}
	p.env["DIBS_KEY"], _, _ = strings.Cut(out.String(), "\n")
}

// checkFlags checks that dibs serve has the flags that a page shows.
func (p *webPage) checkFlags(args []string) {
	p.Helper()
	known := " --config"
	for _, s := range config.Settings() {
		known += " --" + s.Flag
	}
	for _, arg := range args {
		if strings.HasPrefix(arg, "--") && !strings.Contains(known+" ", " "+arg+" ") {
			p.Errorf("dibs serve has no flag %s", arg)
		}
	}
}
