package dibsclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
)

// attempt sends a call once. It returns nil if the response was decoded.
func (c *client) attempt(ctx context.Context, do call, body []byte) *failure {
	if ctx.Err() != nil {
		return &failure{err: ctx.Err()} // the transport would not tell whether it sent anything
	}
	if !do.unbounded {
		limited, cancel := context.WithTimeoutCause(ctx, c.options.Timeout, c.timeoutError())
		defer cancel()
		ctx = limited
	}
	var trace connTrace
	request, err := c.newRequest(trace.attach(ctx), do, body)
	if err != nil {
		return &failure{err: noResponse(ctx, do, err), retryable: true}
	}
	r, err := c.http.Do(request)
	if err != nil {
		return &failure{err: noResponse(ctx, do, err), retryable: true, maybeApplied: trace.mayHaveArrived(err)}
	}
	defer func() { _ = r.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(r.Body, c.maxResponse+1))
	if err != nil {
		return &failure{err: noResponse(ctx, do, err), retryable: true, maybeApplied: true}
	}
	if int64(len(data)) > c.maxResponse {
		return &failure{maybeApplied: true, err: &StatusError{
			Status: r.StatusCode, Detail: fmt.Sprintf("the response exceeds %d bytes: request less at once", c.maxResponse),
		}}
	}
	return do.decodeResponse(response{r.StatusCode, r.Header, data})
}

func (c *client) timeoutError() error { return fmt.Errorf("no response within %v", c.options.Timeout) }

// newRequest returns the request of a call. An error means that nothing was sent.
func (c *client) newRequest(ctx context.Context, do call, body []byte) (*http.Request, error) {
	bearer, err := c.bearer(ctx)
	if err != nil {
		return nil, err
	}
	address := c.base + do.path
	if len(do.query) > 0 {
		address += "?" + do.query.Encode()
	}
	// The transport can rewind a reader of bytes: it replaces a connection that turns out
	// to be dead before anything was written to it.
	request, err := http.NewRequestWithContext(ctx, do.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	header := request.Header
	header.Set("User-Agent", c.options.UserAgent)
	header.Set("Cache-Control", "no-cache") // a Registry answers with the present state
	header.Set("Accept", "application/json, application/problem+json")
	if bearer != "" {
		header.Set("Authorization", "Bearer "+bearer)
	}
	if body != nil {
		header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// bearer returns the credential to send, empty for none.
func (c *client) bearer(ctx context.Context) (string, error) {
	if c.options.Token == nil {
		return c.options.Key, nil
	}
	token, err := c.options.Token(ctx)
	if err != nil {
		return "", fmt.Errorf("Options.Token returned no token: %w", err)
	}
	if token == "" || notVisible(token) {
		return "", errors.New("Options.Token returned a token that is empty or not visible ASCII")
	}
	return token, nil
}

// noResponse returns the error for a call without a response. It leaves the URL out, since
// that contains values.
func noResponse(ctx context.Context, do call, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("%s: %w", do.name, err)
}

// connTrace records how far the transport came with a request.
type connTrace struct{ wanted, connected atomic.Bool }

// attach makes the transport report to the trace.
func (t *connTrace) attach(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { t.wanted.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { t.connected.Store(true) },
	})
}

// mayHaveArrived reports whether a failed request may have reached the server. Without a
// connection it cannot. If the transport reports nothing to the trace, only a dial error
// shows that there was none.
func (t *connTrace) mayHaveArrived(err error) bool {
	if t.connected.Load() || t.wanted.Load() {
		return t.connected.Load()
	}
	var failed *net.OpError
	return !errors.As(err, &failed) || failed.Op != "dial"
}
