package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// exchange is a request, and the response to it.
type exchange struct {
	http.ResponseWriter
	context requestContext // of the request
	body    *requestBody   // of the request
	conn    *connection
	start   time.Time
	timeout time.Duration
	route   *route
	status  int
	bytes   int64
	shed    bool // rejected, because the server is overloaded
	routing routing
}

// newExchange begins an exchange. It bounds the time for the request's body to arrive, for the
// work, and for the client to accept the response. The work of an unbounded request is bounded
// only until its caller is authenticated, see [Server.authenticate].
func (s *Server) newExchange(w http.ResponseWriter, r *http.Request) (*exchange, *http.Request) {
	x := &exchange{ResponseWriter: w, conn: connectionOf(r), start: time.Now(), timeout: s.cfg.RequestTimeout, route: s.noRoute}
	x.routing.exchange = x
	deadline := x.start.Add(x.timeout)
	_ = http.NewResponseController(w).SetWriteDeadline(deadline.Add(x.timeout)) // leaves time to send a problem about the deadline
	x.context.Context = r.Context()
	if !unbounded(r) {
		x.context.deadline = deadline
	}
	r = r.WithContext(&x.context)
	if r.Body != nil && r.Body != http.NoBody {
		x.body = &requestBody{ReadCloser: r.Body, control: http.NewResponseController(w), unreadTimeout: min(unreadTimeout, x.timeout)}
		_ = x.body.control.SetReadDeadline(deadline)
		r.Body = x.body
	}
	return x, r
}

// end ends the context of the request, and its body.
func (x *exchange) end() {
	x.context.end()
	x.body.abandon()
}

// WriteHeader notes the status.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
		x.body.abandon()
		if h := x.Header(); len(h["Cache-Control"]) == 0 {
			h["Cache-Control"] = noStore
		}
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	n, err := x.ResponseWriter.Write(b)
	x.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// Values of headers that many responses share.
var (
	noStore    = []string{"no-store"}
	noSniff    = []string{"nosniff"}
	typeIsJSON = []string{"application/json"}
)

// routing is the response that the mux sees while it looks for the handler of an exchange. What
// the mux itself writes is only noted: [Server.unrouted] answers.
type routing struct {
	exchange *exchange
	found    bool
	header   http.Header
	status   int
}

// Header returns the header of the mux's own response.
func (r *routing) Header() http.Header {
	if r.header == nil {
		r.header = make(http.Header)
	}
	return r.header
}

// Write drops a text.
func (r *routing) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader notes the status.
func (r *routing) WriteHeader(status int) { r.status = status }

// requestContext is the context of a request: it ends with the exchange, with the connection, or
// at the deadline, and it has the request's info. A timer costs as much as an answer from the
// cache, so it has one only from when code waits for its end.
type requestContext struct {
	context.Context
	deadline time.Time // zero means none
	info     requestInfo

	mu     sync.Mutex
	timed  context.Context // nil until code waits
	cancel context.CancelFunc
	ended  bool
}

// Deadline returns the deadline of the request, if there is one.
func (c *requestContext) Deadline() (time.Time, bool) {
	if c.deadline.IsZero() {
		return c.Context.Deadline()
	}
	return c.deadline, true
}

// Done returns a channel that is closed when the context ends.
func (c *requestContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timed == nil {
		if c.deadline.IsZero() {
			c.timed, c.cancel = context.WithCancel(c.Context)
		} else {
			c.timed, c.cancel = context.WithDeadline(c.Context, c.deadline)
		}
		if c.ended {
			c.cancel()
		}
	}
	return c.timed.Done()
}

// Err returns why the context has ended, or nil.
func (c *requestContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.timed != nil:
		return c.timed.Err()
	case c.ended:
		return context.Canceled
	case c.Context.Err() == nil && !c.deadline.IsZero() && !time.Now().Before(c.deadline):
		return context.DeadlineExceeded
	default:
		return c.Context.Err()
	}
}

// Value returns the request's info, or a value of the connection's context. The context with the
// timer answers once there is one: contexts that are made from this one ask for it.
func (c *requestContext) Value(key any) any {
	if key == (infoKey{}) {
		return &c.info
	}
	c.mu.Lock()
	from := c.timed
	c.mu.Unlock()
	if from == nil {
		from = c.Context
	}
	return from.Value(key)
}

// end ends the context.
func (c *requestContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.cancel != nil {
		c.cancel()
	}
}

// unreadTimeout is how long a client may take to send the rest of a body that the server does
// not read. A client that takes longer loses its connection.
const unreadTimeout = time.Second

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
