package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// fuzzedRequest is a request as raw bytes: no library checks it.
type fuzzedRequest struct {
	method, target string
	header         [][2]string
	body           string
	framing        framing

	bytes string // the whole request, once written
}

// framing is how a request gives the length of its body.
type framing int

const (
	measured  framing = iota // by Content-Length
	chunked                  // in chunks
	cutOff                   // by a Content-Length beyond the body
	asStreams                // measured, and it accepts an event stream
)

func (r *fuzzedRequest) add(name, value string) { r.header = append(r.header, [2]string{name, value}) }

func (r *fuzzedRequest) set(name, value string) {
	for i := range r.header {
		if strings.EqualFold(r.header[i][0], name) {
			r.header[i][1] = value
			return
		}
	}
	r.add(name, value)
}

// text is the request as bytes.
func (r *fuzzedRequest) text() string {
	if r.bytes == "" {
		r.bytes = r.write()
	}
	return r.bytes
}

func (r *fuzzedRequest) write() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", r.method, r.target)
	for _, h := range r.header {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	switch {
	case r.framing == chunked:
		b.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		for rest := r.body; rest != ""; {
			n := min(len(rest), 10_000)
			fmt.Fprintf(&b, "%x\r\n%s\r\n", n, rest[:n])
			rest = rest[n:]
		}
		b.WriteString("0\r\n\r\n")
	case r.framing == cutOff:
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(r.body)+100, r.body)
	case r.framing == asStreams:
		fmt.Fprintf(&b, "Accept: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(r.body), r.body)
	case r.body != "" || r.method != http.MethodGet:
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(r.body), r.body)
	default:
		b.WriteString("\r\n")
	}
	return b.String()
}

// String returns enough of the request to send it again.
func (r *fuzzedRequest) String() string { return fmt.Sprintf("%.2000q", r.text()) }

// fuzzedAnswer is a response.
type fuzzedAnswer struct {
	status int
	header http.Header
	body   string
	took   time.Duration
	stream bool // it is an event stream
}

// errCutOff means that the server closed the connection while the body was being sent. It has
// answered, but the kernel may discard the response.
var errCutOff = errors.New("the connection was closed")

// wireClient sends requests over one connection, and opens another when it is closed.
type wireClient struct {
	addr   string
	conn   net.Conn
	reader *bufio.Reader
}

func (c *wireClient) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// send sends a request and returns its answer.
func (c *wireClient) send(r *fuzzedRequest) (*fuzzedAnswer, error) {
	reused := c.conn != nil
	answer, err := c.exchange(r)
	if errors.Is(err, errCutOff) || err != nil && reused { // an idle connection may have been closed
		return c.exchange(r)
	}
	return answer, err
}

// answerTimeout is how long the client waits for a response.
const answerTimeout = patience

func (c *wireClient) exchange(r *fuzzedRequest) (*fuzzedAnswer, error) {
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.addr)
		if err != nil {
			return nil, err
		}
		c.conn, c.reader = conn, bufio.NewReader(conn)
	}
	start := time.Now()
	if err := c.conn.SetDeadline(start.Add(answerTimeout)); err != nil {
		return nil, err
	}
	text, conn, written := r.text(), c.conn, make(chan struct{})
	go func() { // the server may answer before it has read everything
		defer close(written)
		_, _ = io.WriteString(conn, text)
		if r.framing == cutOff {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
	}()
	answer, closed, err := c.read(r)
	if answer != nil {
		answer.took = time.Since(start)
	}
	if err != nil || closed || r.framing == cutOff {
		c.close()
	}
	<-written
	if errors.Is(err, syscall.ECONNRESET) && r.body != "" {
		return nil, errCutOff
	}
	return answer, err
}

var errTooSlow = errors.New("no response")

// read reads a response, and reports whether the connection must be closed.
func (c *wireClient) read(r *fuzzedRequest) (answer *fuzzedAnswer, last bool, err error) {
	var res *http.Response
	for res == nil || res.StatusCode == http.StatusContinue {
		if res, err = http.ReadResponse(c.reader, &http.Request{Method: r.method}); err != nil {
			if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
				err = errTooSlow
			}
			return nil, true, err
		}
	}
	answer = &fuzzedAnswer{status: res.StatusCode, header: res.Header}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		answer.stream = true
		return answer, true, nil
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	answer.body = string(body)
	return answer, res.Close, err
}
