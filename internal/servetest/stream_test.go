package servetest_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestStreamOnOldConnection follows the feed over a connection whose earlier request had
// a deadline that has passed. A stream has no deadline.
func TestStreamOnOldConnection(t *testing.T) {
	t.Parallel()
	const timeout = 200 * time.Millisecond
	p := serve(t, t.TempDir(), "--request-timeout", timeout.String())
	conn := dial(t, p.url)
	defer func() { _ = conn.Close() }() // before a body is closed, which reads the stream to its end
	in := bufio.NewReader(conn)
	send := func(head string) io.Reader {
		t.Helper()
		if _, err := io.WriteString(conn, head+"\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return response.Body
	}
	if _, err := io.Copy(io.Discard, send("GET /healthz HTTP/1.1")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * timeout) // the timeout applies once to reading and twice to writing
	stream := bufio.NewScanner(send("GET /v1/events HTTP/1.1\r\nAccept: text/event-stream"))
	time.Sleep(3 * timeout)
	// On a busy machine the timeout may be too short for a commit, so it is retried.
	names := 0
	await(t, "a name is reserved", func() bool {
		names++
		return post(t, p.url+"/v1/reservations", reservation(fmt.Sprint("name-", names), "1")).status == http.StatusCreated
	})
	if !stream.Scan() || !strings.HasPrefix(stream.Text(), "id: ") {
		t.Errorf("the stream says %q, %v", stream.Text(), stream.Err())
	}
}
