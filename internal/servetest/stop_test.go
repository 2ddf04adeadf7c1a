package servetest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/wire"
)

// halfSent is a request of which the server has read a part.
type halfSent struct {
	conn net.Conn
	in   *bufio.Reader
	rest string
}

// sendHalf returns once the server reads the body.
func sendHalf(t *testing.T, url, body string) *halfSent {
	t.Helper()
	conn := dial(t, url)
	half := &halfSent{conn, bufio.NewReader(conn), body[len(body)/2:]}
	fmt.Fprintf(conn, "POST /v1/reservations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(body))
	// The server sends 100 Continue when it begins to read.
	if line, err := half.in.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err)
	}
	if line, err := half.in.ReadString('\n'); err != nil || line != "\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := io.WriteString(conn, body[:len(body)/2]); err != nil {
		t.Fatal(err)
	}
	return half
}

// finish sends the rest and returns the status of the answer.
func (h *halfSent) finish(t *testing.T) int {
	t.Helper()
	if _, err := io.WriteString(h.conn, h.rest); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(h.in, nil)
	if err != nil {
		t.Fatalf("a request in progress got no answer: %v", err)
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode
}

// openStream follows the feed, and returns the error that it ends with.
func openStream(t *testing.T, url string) <-chan error {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, url+"/v1/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	begun, ended := make(chan error, 1), make(chan error, 1)
	client := newClient(t, 1)
	go func() {
		response, err := client.Do(request)
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("the feed answers %d", response.StatusCode)
		}
		if begun <- err; err != nil {
			return
		}
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		ended <- err
	}()
	if err := <-begun; err != nil {
		t.Fatal(err)
	}
	return ended
}

// TestStopUnderLoad stops a server under load: it answers every request that it has begun,
// and everything it acknowledged is stored afterwards.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, dir, "--request-timeout", patience.String(), "--drain-timeout", patience.String())
	stream := openStream(t, p.url)
	half := sendHalf(t, p.url, reservation("half", "owner-of-half"))
	load := startWriters(t, p.url, "load", 16)
	awaitLoad(t, func() bool { return load.answered.Load() > 300 })

	p.signal(t, syscall.SIGTERM)
	await(t, "the server drains", func() bool { return isDraining(p.url) })
	if err := <-stream; err != nil {
		t.Errorf("the stream was cut off: %v", err)
	}
	load.workers.Wait() // the server closes each connection
	load.mustNotFail(t)
	if status := half.finish(t); status != http.StatusCreated {
		t.Errorf("the request in progress got %d", status)
	}
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	load.acked["half"] = "owner-of-half"
	mustHave(t, serve(t, dir).url, load.acked)
}

// TestStopIdle stops an idle server: it ends at once.
func TestStopIdle(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	begin := time.Now()
	p.signal(t, syscall.SIGTERM)
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	t.Logf("it took %v", time.Since(begin))
}

// TestSecondSignal stops a server that waits for a request that never ends.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), "--request-timeout", "10m", "--drain-timeout", "10m")
	sendHalf(t, p.url, reservation("half", "1"))
	p.signal(t, syscall.SIGTERM)
	await(t, "the server drains", func() bool { return isDraining(p.url) })
	await(t, "it ends", func() bool {
		p.signal(t, syscall.SIGTERM)
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
}

// TestStopDespiteStuckRequest stops a server when the drain timeout is over.
func TestStopDespiteStuckRequest(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), "--request-timeout", "10m", "--drain-timeout", "1s")
	sendHalf(t, p.url, reservation("half", "1"))
	p.signal(t, syscall.SIGTERM)
	if code := p.wait(t); code != 0 || !strings.Contains(p.stderr.String(), "drain timeout exceeded") {
		t.Errorf("exit code %d", code)
	}
}

// TestStopOverHTTP2 stops a server with a stream, a request in progress and an idle
// connection, all over HTTP/2: the request is answered, and the others end.
func TestStopOverHTTP2(t *testing.T) {
	t.Parallel()
	f := newSecured(t)
	f.configure(t, "optional", "all")
	p := f.serve(t)
	client := f.client(t, f.orders.TLS(t))
	client.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	request := func(method, path string, body io.Reader) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), method, p.url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	watch := request(http.MethodGet, "/v1/events", nil)
	watch.Header.Set("Accept", "text/event-stream")
	stream, err := client.Do(watch)
	if err != nil || stream.Proto != "HTTP/2.0" {
		t.Fatal(stream, err)
	}
	defer func() { _ = stream.Body.Close() }()

	read, write := io.Pipe()
	reserve := request(http.MethodPost, "/v1/reservations", read)
	reserve.Header.Set("Content-Type", "application/json")
	answered := make(chan int, 1)
	go func() {
		response, err := client.Do(reserve)
		if err != nil {
			t.Errorf("a request in progress got no answer: %v", err)
			answered <- 0
			return
		}
		_ = response.Body.Close()
		answered <- response.StatusCode
	}()
	if _, err := io.WriteString(write, `{"namespace": "slug", `); err != nil { // returns when it is sent
		t.Fatal(err)
	}
	// A later request on the same connection arrives later.
	if a, err := ask(client, http.MethodGet, p.url+"/healthz", ""); err != nil || a.status != http.StatusOK {
		t.Fatal(a.status, err)
	}
	p.signal(t, syscall.SIGTERM)
	if _, err := io.Copy(io.Discard, stream.Body); err != nil {
		t.Errorf("the stream was cut off: %v", err)
	}
	_, _ = io.Copy(write, strings.NewReader(`"value": "a"}`))
	_ = write.Close()
	if got := <-answered; got != http.StatusCreated {
		t.Errorf("the request in progress: %d", got)
	}
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}

// TestKilledServerLosesNothing kills a server under load, repeatedly: everything that it
// acknowledged is stored afterwards.
func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	rounds := 3
	if os.Getenv("DIBS_TEST_LONG") != "" {
		rounds = 30
	}
	dir, acked := t.TempDir(), make(map[string]string)
	for round := range rounds {
		p := serve(t, dir)
		load := startWriters(t, p.url, fmt.Sprint("round-", round), 16)
		awaitLoad(t, func() bool { return load.answered.Load() > int64(200+97*round) })
		p.kill(t)
		load.workers.Wait()
		if load.lost == 0 {
			t.Error("the server was not killed under load")
		}
		maps.Copy(acked, load.acked)
	}
	mustHave(t, serve(t, dir).url, acked)
}

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
	notRaced(t)
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
	notRaced(t)
	p := serve(t, t.TempDir())
	address := strings.TrimPrefix(p.url, "http://")
	second := finish(t, t.TempDir(), "serve", "--listen", address)
	if second.wait(t) != 1 || !strings.Contains(second.stderr.String(), "listening on "+address) {
		t.Errorf("%v: %s", second.cmd.ProcessState, second.stderr.String())
	}
}
