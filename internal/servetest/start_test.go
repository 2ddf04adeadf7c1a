package servetest_test

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/wire"
)

// pasted matches the command that a server prints to try, which may have several lines.
var pasted = regexp.MustCompile(`(?m)^ +curl (?:.*\\\n)*.*$`)

// quoted matches a word of a command line, as far as the printed command needs it.
var quoted = regexp.MustCompile(`'([^']*)'|"([^"]*)"|([^\s\\'"]+)`)

func shellWords(line string) []string {
	var words []string
	for _, m := range quoted.FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2]+m[3])
	}
	return words
}

// curl sends the request of a curl command.
func curl(t *testing.T, command string) answer {
	t.Helper()
	var url, body string
	var headers []string
	words := shellWords(command)
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-s":
		case "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			headers = append(headers, name, value)
		case "-d":
			i++
			body = words[i]
		default:
			url = words[i]
		}
	}
	a, err := ask(newClient(t, 1), http.MethodPost, url, body, headers...)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return a
}

// TestServeWithoutSettings starts a server in an empty folder, and runs the command it prints.
func TestServeWithoutSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// Only the port is not the default, which may be in use.
	p := listen(t, start(t, dir, []string{"DIBS_LISTEN=127.0.0.1:0"}, "serve"))
	await(t, "a command is offered", func() bool { return strings.Contains(p.stdout.String(), "/docs/") })
	command := pasted.FindString(p.stdout.String())
	a := curl(t, command)
	var hold wire.Name
	if err := json.Unmarshal(a.body, &hold); err != nil || a.status != http.StatusCreated || hold.Key != "slug:alice-bob" || hold.Token == "" {
		t.Errorf("the command answers %d %s (%v)", a.status, a.body, err)
	}
	if _, err := exec.LookPath("curl"); err == nil {
		out, err := exec.Command("sh", "-c", command).CombinedOutput()
		if err != nil || !strings.Contains(string(out), `"NAME_TAKEN"`) {
			t.Errorf("pasted once more, the command answers %s (%v)", out, err)
		}
	}
	mustExist(t, dir, "dibs.db")
	for path, part := range map[string]string{
		"/": "<html", "/docs": "swagger", "/docs/": "swagger", "/openapi.json": `"openapi":"3.1`,
		"/healthz": "up", "/readyz": "ready", "/metrics": "dibs_",
	} {
		if a := get(t, p.url+path); a.status != http.StatusOK || !strings.Contains(string(a.body), part) {
			t.Errorf("%s answers %d %.300s", path, a.status, a.body)
		}
	}
	if strings.Contains(p.stderr.String()+p.stdout.String(), hold.Token) {
		t.Error("the token is in the log")
	}
}

// TestServeTakenPort demands an error that names the address in use.
func TestServeTakenPort(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	address := strings.TrimPrefix(p.url, "http://")
	second := finish(t, t.TempDir(), "serve", "--listen", address)
	if second.wait(t) != 1 || !strings.Contains(second.stderr.String(), "listening on "+address) {
		t.Errorf("%v: %s", second.cmd.ProcessState, second.stderr.String())
	}
}
