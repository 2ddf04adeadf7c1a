package docs_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/wire"
)

// The program in Go on docs/events.md prints events, and resumes when it is started again. The
// tests of the clients run those in TypeScript and Python.
func TestEventsProgram(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a program")
	}
	_, code, _ := strings.Cut(readText(t, "docs/events.md"), "```go\npackage main")
	code, _, _ = strings.Cut(code, "```")
	program := buildHere(t, "package main"+code)
	url := serveProcess(t, filepath.Join(t.TempDir(), "dibs.db"))
	claimSlug(t, url, "ann")
	claimSlug(t, url, "bob")
	expectLines(t, program, url, "claimed slug:ann", "claimed slug:bob")
	claimSlug(t, url, "carol")
	expectLines(t, program, url, "claimed slug:carol")
}

func claimSlug(t *testing.T, url, value string) {
	t.Helper()
	body := fmt.Sprintf(`{"namespace": "slug", "value": %q, "entity": {"type": "user", "id": %q}}`, value, value)
	res, err := http.Post(url+"/v1/claims", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		t.Fatalf("a claim is %s", res.Status)
	}
}

// lastCursor returns the cursor of the last event.
func lastCursor(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url + "/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var page wire.EventsPage
	if err := json.NewDecoder(res.Body).Decode(&page); err != nil || len(page.Events) == 0 {
		t.Fatalf("no events: %v", err)
	}
	return page.Events[len(page.Events)-1].Cursor
}

// expectLines runs a program in its folder until it has printed some lines, and has stored the
// cursor of the last.
func expectLines(t *testing.T, program, url string, want ...string) {
	t.Helper()
	run := exec.CommandContext(t.Context(), program)
	run.Dir = filepath.Dir(program)
	run.Env = append(os.Environ(), "DIBS_SERVER="+url)
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, line := range want {
		if !lines.Scan() || lines.Text() != line {
			t.Fatalf("the program prints %q, want %q", lines.Text(), line)
		}
	}
	last := lastCursor(t, url)
	for saved := ""; saved != last; time.Sleep(time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(run.Dir, "cursor"))
		saved = string(text)
	}
	_ = run.Process.Kill()
	_ = run.Wait()
}
