package dibshttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// capped is an answer that nobody may keep for longer than a name may be stale.
type capped struct {
	http.ResponseWriter
	limit   limit
	request *http.Request
	done    bool // the headers are out
}

// finish is for answers without a body, whose headers are not out yet.
func (c *capped) finish() {
	if !c.done {
		c.done = true
		c.limit.cap(c.Header(), c.request)
	}
}

// WriteHeader caps the headers and sends them. Those before the last ones, such as early
// hints, are kept by nobody.
func (c *capped) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		c.finish()
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write sends the headers, if they are not out, and a part of the body.
func (c *capped) Write(b []byte) (int, error) {
	c.finish()
	return c.ResponseWriter.Write(b)
}

// ReadFrom is Write for whole files, which the system may send by itself.
func (c *capped) ReadFrom(from io.Reader) (int64, error) {
	c.finish()
	return io.Copy(c.ResponseWriter, from)
}

// Unwrap is for [http.ResponseController].
func (c *capped) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Flush is for those who do not know [http.ResponseController].
func (c *capped) Flush() { _ = c.FlushError() }

// FlushError sends the headers and what there is of the body.
func (c *capped) FlushError() error {
	c.finish()
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// Hijack is for those who do not know [http.ResponseController].
func (c *capped) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(c.ResponseWriter).Hijack()
}
