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

	"github.com/calldibs/dibs"
)

// attempt sends a call once. It returns nil when the answer was read.
func (c *client) attempt(ctx context.Context, do call, body []byte) *failure {
	if ctx.Err() != nil {
		return &failure{err: ctx.Err()} // the transport would not say whether it began
	}
	if !do.unbounded {
		slow := fmt.Errorf("no answer within %v", c.options.Timeout)
		limited, cancel := context.WithTimeoutCause(ctx, c.options.Timeout, slow)
		defer cancel()
		ctx = limited
	}
	bearer, err := c.bearer(ctx, do)
	if err != nil {
		return &failure{err: err, again: true}
	}
	var way way
	response, err := c.send(way.watch(ctx), do, bearer, body)
	if err != nil {
		return &failure{err: lost(ctx, do, err), again: true, mayHaveHappened: way.mayHaveArrived(err)}
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(response.Body, c.maxAnswer+1))
	if err != nil {
		return &failure{err: lost(ctx, do, err), again: true, mayHaveHappened: true}
	}
	if int64(len(data)) > c.maxAnswer {
		return &failure{mayHaveHappened: true, err: &StatusError{
			Status: response.StatusCode, Detail: fmt.Sprintf("its answer has more than the %d bytes that are read: ask for less at once", c.maxAnswer),
		}}
	}
	return do.take(answer{response.StatusCode, response.Header, data})
}

// send makes the request and waits for the head of the answer.
func (c *client) send(ctx context.Context, do call, bearer string, body []byte) (*http.Response, error) {
	// A reader of bytes can be rewound: a connection that turns out to be dead before
	// anything was written to it is then replaced by the transport itself.
	request, err := http.NewRequestWithContext(ctx, do.method, c.address(do), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	c.setHeaders(request.Header, bearer)
	request.Header.Set("Accept", "application/json, application/problem+json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return c.http.Do(request)
}

// sendWatch asks for a stream behind a cursor.
func (c *client) sendWatch(ctx context.Context, do call, after dibs.Cursor) (*http.Response, error) {
	bearer, err := c.bearer(ctx, do)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, do.method, c.address(do), http.NoBody)
	if err != nil {
		return nil, err
	}
	c.setHeaders(request.Header, bearer)
	request.Header.Set("Accept", "text/event-stream")
	if after != "" {
		request.Header.Set("Last-Event-ID", string(after))
	}
	return c.http.Do(request)
}

// address is where a call goes.
func (c *client) address(do call) string {
	if len(do.query) == 0 {
		return c.base + do.path
	}
	return c.base + do.path + "?" + do.query.Encode()
}

func (c *client) setHeaders(header http.Header, bearer string) {
	header.Set("User-Agent", c.options.UserAgent)
	header.Set("Cache-Control", "no-cache") // the Registry promises what is so now
	if bearer != "" {
		header.Set("Authorization", "Bearer "+bearer)
	}
}

// lost describes a call that got no answer. URLs have values in them, and stay out.
func lost(ctx context.Context, do call, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("%s: %w", do.name, err)
}

// way knows how far a request came.
type way struct{ wanted, connected atomic.Bool }

// watch lets the transport report.
func (w *way) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { w.wanted.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { w.connected.Store(true) },
	})
}

// mayHaveArrived reports whether a request that failed can have reached the server.
// Without a connection it cannot. A transport which reports nothing is believed if it
// says that it could not connect.
func (w *way) mayHaveArrived(err error) bool {
	if w.connected.Load() || w.wanted.Load() {
		return w.connected.Load()
	}
	var failed *net.OpError
	return !errors.As(err, &failed) || failed.Op != "dial"
}
