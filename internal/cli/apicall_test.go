package cli_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/cli"
)

// onServer runs a command on a server that answers in its own way.
func onServer(t *testing.T, answer http.HandlerFunc, args ...string) (code int, said string) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	var out strings.Builder
	p := cli.Process{Args: append(args, "--server", server.URL), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
	return p.Run(), out.String()
}

// What a proxy answers in the server's place is no success.
func TestAnswersThatAreNoResults(t *testing.T) {
	t.Parallel()
	for media, body := range map[string]string{
		"application/problem+json": `{"code": "FORBIDDEN", "detail": "the caller has no right to do this", "status": 403, "revoked": "leaked"}`,
		"text/html":                "please sign in",
	} {
		code, said := onServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			_, _ = w.Write([]byte(body))
		}, "keys", "revoke", "leaked")
		if code != cli.ExitUnexpected || !strings.Contains(said, "the server answered 200, not as Dibs does") {
			t.Errorf("%s: exit code %d: %s", media, code, said)
		}
	}
}

// A change whose answer is lost may have happened; what only reads has not.
func TestLostAnswersOfTheAPI(t *testing.T) {
	t.Parallel()
	lose := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for want, args := range map[string][]string{
		"it may have happened: look at what is there": {"keys", "create", "robot", "--in", "*", "--may", "all"},
		"nothing happened; try again later":           {"keys", "list"},
	} {
		if code, said := onServer(t, lose, args...); code != cli.ExitUnavailable || !strings.Contains(said, want) {
			t.Errorf("%v: exit code %d: %s", args, code, said)
		}
	}
	var out strings.Builder
	p := cli.Process{
		Args: []string{"keys", "revoke", "leaked", "--server", "http://127.0.0.1:1"}, Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" },
	}
	if code := p.Run(); code != cli.ExitUnavailable || !strings.Contains(out.String(), "nothing happened; try again later") {
		t.Errorf("without a server: exit code %d: %s", code, &out)
	}
}
