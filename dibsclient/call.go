package dibsclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/calldibs/dibs"
)

// call describes one call of the API.
type call struct {
	name   string // for errors and logs; paths contain values
	method string
	path   string // escaped
	query  url.Values
	body   any // nil for none

	// decode reads the body of a 2xx response, and of one with a status in alsoDecode.
	// An error means that the body is invalid.
	decode     func(data []byte) error
	alsoDecode []int

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
	do.decode = into(&result, convert)
	if f := c.run(ctx, do); f != nil {
		return none, f.err
	}
	return result, nil
}

// into returns a decode function of a call that converts a body of type W to a T.
func into[W, T any](result *T, convert func(W) (T, error)) func([]byte) error {
	return func(data []byte) error {
		var w W
		err := json.Unmarshal(data, &w)
		if err == nil {
			*result, err = convert(w)
		}
		return err
	}
}

// run makes attempts until one succeeds or another one is not possible. It returns the
// last failure, with the error for the caller.
func (c *client) run(ctx context.Context, do call) *failure {
	body, err := encode(do.body)
	if err != nil {
		return &failure{err: err}
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
			f.err = do.finalError(ctx, f, maybeApplied)
			return f
		}
	}
}
