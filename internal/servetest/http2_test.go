package servetest_test

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

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
