package dibsclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"reflect"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
	"github.com/calldibs/dibs/internal/wire"
)

// call describes one call of the API.
type call struct {
	name   string // for errors and logs; paths contain values
	method string
	path   string // escaped
	query  url.Values
	body   any // nil for none

	// decode reads the body of a 2xx response, and with anyStatus also tries others. An error
	// means that the body is invalid.
	decode    func(data []byte) error
	anyStatus bool
	problem   *wire.Problem // for the server's description of a failure; nil if it does not matter

	changes    bool // it may change the registry
	repeatable bool // sending it again is safe even if the first attempt was applied
	unbounded  bool // Options.Timeout does not apply

	// ambiguous reports whether a refusal may be a consequence of an earlier attempt that
	// was applied. Nil means that no refusal is.
	ambiguous func(refusal *dibs.Error) bool
}

// get describes a query whose parameters are in the URL.
func get(name, path string, query url.Values) call {
	return call{name: name, method: http.MethodGet, path: path, query: query, repeatable: true}
}

// post describes a query whose values do not belong in a URL.
func post(name, path string, body any) call {
	return call{name: name, method: http.MethodPost, path: path, body: body, repeatable: true}
}

// fetch makes a call and returns its converted response.
func fetch[W, T any](ctx context.Context, c *client, do call, convert func(W) (T, error)) (T, error) {
	var result, none T
	do.decode = func(data []byte) error {
		var w W
		err := json.Unmarshal(data, &w)
		if err == nil {
			result, err = convert(w)
		}
		return err
	}
	if err := c.run(ctx, do); err != nil {
		return none, err
	}
	return result, nil
}

// run makes attempts until one succeeds or another one is not possible. It returns the error
// for the caller.
func (c *client) run(ctx context.Context, do call) error {
	body, err := encode(do.body)
	if err != nil {
		return err
	}
	maybeApplied := false
	for retry := 1; ; retry++ {
		f := &failure{err: dibs.Unavailable(dibs.ErrClosed)}
		if c.closed.Err() == nil {
			f = c.attempt(ctx, do, body)
		}
		if f == nil {
			return nil
		}
		maybeApplied = maybeApplied || f.maybeApplied
		if retry > c.options.Retries || !f.retryable || (maybeApplied && !do.repeatable) || !c.backOff(ctx, do, f, retry) {
			if do.problem != nil {
				*do.problem = f.problem
			}
			return do.finalError(ctx, f, maybeApplied)
		}
	}
}

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

const (
	firstBackoff = 50 * time.Millisecond
	maxBackoff   = 2 * time.Second
	// maxRetryAfter is the longest Retry-After that the client obeys.
	maxRetryAfter = 10 * time.Second
)

// retryDelay returns the delay before a retry, the first being 1. It doubles with each retry,
// has jitter, and is at least what the server asked for.
func retryDelay(retry int, first, retryAfter time.Duration) time.Duration {
	delay := min(first<<min(retry-1, 10), maxBackoff)
	jitter := rand.N(delay/2 + 1)
	return max(delay/2, min(retryAfter, maxRetryAfter)) + jitter
}

// backOff waits before a retry, and reports whether the context leaves time for it. It returns
// at once if the context's deadline is earlier.
func (c *client) backOff(ctx context.Context, do call, f *failure, retry int) bool {
	delay := retryDelay(retry, c.firstBackoff, f.retryAfter)
	c.options.Logger.DebugContext(ctx, "dibs: retrying a call", "call", do.name, "error", f.err, "delay", delay)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= delay {
		return false
	}
	return backoff.Sleep(ctx, delay) == nil
}

// encode returns a body as JSON, nil for none. It refuses invalid UTF-8: package json would
// silently replace it, and so send another name.
func encode(body any) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	if err := checkUTF8(reflect.ValueOf(body), "body", dibs.CodeInvalidValue); err != nil {
		return nil, err
	}
	return json.Marshal(body)
}

// memberCodes are the codes with which the registry refuses invalid members. Other members
// have INVALID_VALUE.
var memberCodes = map[string]dibs.Code{
	"namespace": dibs.CodeInvalidNamespace, "scope": dibs.CodeInvalidNamespace, "token": dibs.CodeInvalidToken,
}

// checkUTF8 returns an error for the first text in a member of a body that is not valid
// UTF-8.
func checkUTF8(v reflect.Value, member string, code dibs.Code) error {
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return &dibs.Error{Code: code, Message: "the " + member + " is not valid UTF-8"}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return checkUTF8(v.Elem(), member, code)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkUTF8(v.Index(i), member, code); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if err := cmp.Or(checkUTF8(key, member, code), checkUTF8(v.MapIndex(key), member, code)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			member, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			code := cmp.Or(memberCodes[member], dibs.CodeInvalidValue)
			if v.Type() == reflect.TypeFor[wire.Entity]() {
				member, code = "entity's "+member, dibs.CodeInvalidEntity
			}
			if err := checkUTF8(v.Field(i), member, code); err != nil {
				return err
			}
		}
	default: // not a text
	}
	return nil
}
