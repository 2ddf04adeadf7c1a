package servetest_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestStopOverHTTP2 ends a server that has a stream, a request under way and an idle
// connection, all over HTTP/2: what is under way is answered, and the rest ends.
func TestStopOverHTTP2(t *testing.T) {
	t.Parallel()
	f := newFort(t)
	f.configure(t, "optional", "all")
	p := f.serve(t)
	orders, err := tls.LoadX509KeyPair(filepath.Join(f.dir, "orders.crt"), filepath.Join(f.dir, "orders.key"))
	if err != nil {
		t.Fatal(err)
	}
	client := f.client(t, orders)
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
			t.Errorf("a request that was under way got no answer: %v", err)
			answered <- 0
			return
		}
		_ = response.Body.Close()
		answered <- response.StatusCode
	}()
	if _, err := io.WriteString(write, `{"namespace": "slug", `); err != nil { // returns when it is on its way
		t.Fatal(err)
	}
	// What is sent on the same connection afterwards arrives afterwards.
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
		t.Errorf("what was under way: %d", got)
	}
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}
