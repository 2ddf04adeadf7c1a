package dibshttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// cappedWriter caps the Cache-Control of a response before its headers are sent.
type cappedWriter struct {
	http.ResponseWriter
	maxAge  maxAge
	request *http.Request
	sent    bool // the headers are sent
}

// capHeaders caps the headers unless they are sent. It is called before every way to send
// them, and at the end for responses without a body.
func (c *cappedWriter) capHeaders() {
	if !c.sent {
		c.sent = true
		c.maxAge.cap(c.Header(), c.request)
	}
}

// WriteHeader caps the headers and sends them. Caches do not keep informational responses
// such as early hints, so their headers are sent as they are.
func (c *cappedWriter) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		c.capHeaders()
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write sends the headers, if they are not sent, and a part of the body.
func (c *cappedWriter) Write(b []byte) (int, error) {
	c.capHeaders()
	return c.ResponseWriter.Write(b)
}

// ReadFrom is Write for files, which the operating system may copy by itself.
func (c *cappedWriter) ReadFrom(from io.Reader) (int64, error) {
	c.capHeaders()
	return io.Copy(c.ResponseWriter, from)
}

// Unwrap is for [http.ResponseController].
func (c *cappedWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Flush is for code that does not use [http.ResponseController].
func (c *cappedWriter) Flush() { _ = c.FlushError() }

// FlushError sends the headers and the buffered part of the body.
func (c *cappedWriter) FlushError() error {
	c.capHeaders()
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// Hijack is for code that does not use [http.ResponseController].
func (c *cappedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(c.ResponseWriter).Hijack()
}
