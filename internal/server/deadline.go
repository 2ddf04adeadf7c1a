package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// lingering is how long a client may take to send the rest of a body that is not read,
// because the request was answered without it. A client that has sent it already keeps its
// connection; any other loses it.
const lingering = time.Second

// withDeadline bounds how long a request may take: its body to arrive, its answer to be
// accepted, and the work in between. The work of a request that lasts is bounded only while
// its caller is not known, see [Server.authenticate].
func (s *Server) withDeadline(w http.ResponseWriter, r *http.Request, start time.Time) (*http.Request, *requestBody, context.CancelFunc) {
	deadline := start.Add(s.cfg.RequestTimeout)
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(deadline.Add(s.cfg.RequestTimeout)) // an answer about the deadline gets out, too
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if !lasts(r) {
		ctx, cancel = context.WithDeadline(ctx, deadline)
	}
	r = r.WithContext(ctx)
	if r.Body == nil || r.Body == http.NoBody {
		return r, nil, cancel
	}
	_ = control.SetReadDeadline(deadline)
	body := &requestBody{ReadCloser: r.Body, control: control, lingering: min(lingering, s.cfg.RequestTimeout)}
	r.Body = body
	return r, body, cancel
}

// lasts reports whether a request is for something that takes as long as there is to do.
func lasts(r *http.Request) bool { return streaming(r) || lasting(r) }

// lift ends the deadline of an answer that lasts, once its caller is known.
func lift(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
}

// requestBody is a body that must have arrived by a deadline. A nil one is none.
type requestBody struct {
	io.ReadCloser
	control   *http.ResponseController
	lingering time.Duration
	ended     bool // it was read
	left      bool // the rest of it does not matter
}

// Read lifts the deadline at the end of the body. From there on net/http itself reads from
// the connection, to notice a client that goes; a deadline would end the contexts of this
// request and of every later one of the connection.
func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && !b.ended {
		b.ended = true
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// leave lets go of what was not read. net/http reads the rest of a body before it sends an
// answer, until the deadline.
func (b *requestBody) leave() {
	if b != nil && !b.ended && !b.left {
		b.left = true
		_ = b.control.SetReadDeadline(time.Now().Add(b.lingering))
	}
}
