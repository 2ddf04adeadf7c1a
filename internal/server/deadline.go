package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// unreadTimeout is how long a client may take to send the rest of a body that the server does
// not read. A client that takes longer loses its connection.
const unreadTimeout = time.Second

// withDeadline bounds the time for a request's body to arrive, for the work, and for the client
// to accept the response. The work of an unbounded request is bounded only until its caller is
// authenticated, see [Server.authenticate].
func (s *Server) withDeadline(w http.ResponseWriter, r *http.Request, start time.Time) (*http.Request, *requestBody, context.CancelFunc) {
	deadline := start.Add(s.cfg.RequestTimeout)
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(deadline.Add(s.cfg.RequestTimeout)) // leaves time to send a problem about the deadline
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if !unbounded(r) {
		ctx, cancel = context.WithDeadline(ctx, deadline)
	}
	r = r.WithContext(ctx)
	if r.Body == nil || r.Body == http.NoBody {
		return r, nil, cancel
	}
	_ = control.SetReadDeadline(deadline)
	body := &requestBody{ReadCloser: r.Body, control: control, unreadTimeout: min(unreadTimeout, s.cfg.RequestTimeout)}
	r.Body = body
	return r, body, cancel
}

// unbounded reports whether a request may take longer than the request timeout.
func unbounded(r *http.Request) bool { return streaming(r) || longRunning(r) }

// clearWriteDeadline removes the deadline of an unbounded response, once its caller is known.
func clearWriteDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
}

// requestBody is a body that must arrive by a deadline. Nil means that there is no body.
type requestBody struct {
	io.ReadCloser
	control       *http.ResponseController
	unreadTimeout time.Duration
	ended         bool // it was read to its end
	abandoned     bool // the rest is not needed
}

// Read clears the deadline at the end of the body. From then on net/http itself reads from the
// connection, to notice a disconnect; a deadline would cancel the contexts of this request and
// of every later one on the connection.
func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && !b.ended {
		b.ended = true
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// abandon shortens the deadline for what was not read: net/http reads the rest of a body before
// it sends a response.
func (b *requestBody) abandon() {
	if b != nil && !b.ended && !b.abandoned {
		b.abandoned = true
		_ = b.control.SetReadDeadline(time.Now().Add(b.unreadTimeout))
	}
}
