package docs_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/config"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/internal/wire"
	"github.com/calldibs/dibs/memstore"
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
	for path, atLeast := range map[string]int{"README.md": 3, "docs/server.md": 1, "docs/api.md": 12, "docs/access.md": 3, "docs/proxies.md": 3, "docs/events.md": 4} {
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
		assigned := assignment.FindStringSubmatch(line)
		words := p.words(line)
		switch {
		case assigned != nil:
			p.env[assigned[1]] = p.makeKey(p.words(strings.TrimSuffix(assigned[2], " | head -n 1"))[1:])
		case words[0] == "curl":
			var expected block
			if i == len(commands)-1 {
				expected = shown
			}
			p.curl(words[1:], expected)
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

// makeKey runs a command that makes a key and returns its secret.
func (p *webPage) makeKey(args []string) string {
	p.Helper()
	var out, failed strings.Builder
	if code := (cli.Process{Args: args, Stdout: &out, Stderr: &failed}).Run(); code != 0 {
		p.Fatalf("%q: %s", args, failed.String())
	}
	secret, _, _ := strings.Cut(out.String(), "\n")
	return secret
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

// serverTables returns the labelled tables of the pages about the server.
func serverTables(t *testing.T) map[string][][]string {
	t.Helper()
	return labelledTables(t, readText(t, "docs/server.md")+readText(t, "docs/api.md")+readText(t, "docs/access.md"))
}

// fetch returns a page of a new server.
func fetch(t *testing.T, path string) []byte {
	t.Helper()
	store := memstore.New(memstore.Config{})
	registry, err := core.Open(store, dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := registry.Close(); err != nil {
			t.Error(err)
		}
	}()
	answer := httptest.NewRecorder()
	server.New(server.Config{Registry: registry, Store: store}).
		ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.Code != http.StatusOK {
		t.Fatalf("%s: %d, %v", path, answer.Code, err)
	}
	return text
}

func TestServerPageHasEveryCall(t *testing.T) {
	t.Parallel()
	var description struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(fetch(t, "/openapi.json"), &description); err != nil {
		t.Fatal(err)
	}
	var calls, shown []string
	for path, methods := range description.Paths {
		for method := range methods {
			calls = append(calls, strings.ToUpper(method)+" "+path)
		}
	}
	for _, row := range serverTables(t)["calls"] {
		shown = append(shown, quoted(row[0]))
		for _, right := range allQuoted(row[2]) {
			if !slices.Contains(access.Verbs(), access.Verb(right)) {
				t.Errorf("%s needs the right %s, which does not exist", row[0], right)
			}
		}
	}
	sameSet(t, "calls", shown, calls)
}

func TestServerPageHasEveryCode(t *testing.T) {
	t.Parallel()
	var codes, shown []string
	for _, m := range regexp.MustCompile(`Code\w+ +Code = "(\w+)"`).FindAllStringSubmatch(readFiles(t, notTest, "*.go"), -1) {
		codes = append(codes, m[1])
	}
	upper := regexp.MustCompile(`^[A-Z_]+$`)
	for _, row := range serverTables(t)["codes"] {
		for _, code := range allQuoted(row[0]) {
			if !upper.MatchString(code) {
				continue // a member
			}
			shown = append(shown, code)
			if want := strconv.Itoa(wire.StatusOf(dibs.Code(code))); row[1] != want {
				t.Errorf("%s is answered by %s, the page says %s", code, want, row[1])
			}
		}
	}
	sameSet(t, "codes", shown, codes)
}

func TestServerPageHasEveryGroup(t *testing.T) {
	t.Parallel()
	shown := make(map[access.Verb][]string)
	for _, row := range serverTables(t)["groups"] {
		shown[access.Verb(quoted(row[0]))] = allQuoted(row[1])
	}
	if got := slices.Sorted(maps.Keys(shown)); !slices.Equal(got, access.Groups()) {
		t.Errorf("the page has the groups %q, the code %q", got, access.Groups())
	}
	ungrouped := wire.ListOf(access.Verbs(), func(v access.Verb) string { return string(v) })
	for group, verbs := range shown {
		caller := access.Caller{Grants: []access.Grant{{Verbs: []access.Verb{group}, Namespaces: []string{"*"}}}}
		var may []string
		for _, verb := range access.Verbs() {
			if caller.May(verb, "slug") {
				may = append(may, string(verb))
			}
		}
		if group != access.All {
			sameSet(t, string(group), verbs, may)
			ungrouped = slices.DeleteFunc(ungrouped, func(verb string) bool { return slices.Contains(may, verb) })
		}
	}
	sameSet(t, "in no group but all", shown[access.All], ungrouped)
}

func TestServerPageHasEveryMetric(t *testing.T) {
	t.Parallel()
	var shown []string
	for _, row := range serverTables(t)["metrics"] {
		shown = append(shown, quoted(row[0]))
	}
	var metrics []string
	source := readFiles(t, notTest, "internal/server/*.go", "internal/tracing/*.go")
	for _, m := range regexp.MustCompile(`(?:Name: |NewDesc\(|counter\(|gauge\()"(dibs_\w+)"`).FindAllStringSubmatch(source, -1) {
		metrics = append(metrics, m[1])
	}
	sameSet(t, "metrics", shown, metrics)
}
