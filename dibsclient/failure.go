package dibsclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

type failure struct {
	err          error
	refused      bool          // the registry decided, and refused
	maybeApplied bool          // the request may have reached the registry
	retryable    bool          // another attempt may succeed
	retryAfter   time.Duration // the least delay that the server asks for
	problem      wire.Problem  // the server's description; it has no code if there is none
}

// finalError returns the error for the caller after the last attempt. If an earlier attempt
// may have been applied, the outcome is unknown, unless the registry itself refused the last
// one and would not have refused it after applying the earlier one.
func (do call) finalError(ctx context.Context, f *failure, maybeApplied bool) error {
	maybeApplied = maybeApplied && do.changes
	if f.refused {
		if refusal, ok := errors.AsType[*dibs.Error](f.err); ok && maybeApplied && do.ambiguous != nil && do.ambiguous(refusal) {
			// The error wraps the refusal, which tells the present state.
			unknown := dibs.OutcomeUnknown(refusal)
			unknown.Message = "the change may have been applied, and changed again since; the registry refused its repetition"
			return unknown
		}
		return f.err
	}
	err, ended := f.err, ctx.Err()
	if ended != nil {
		err = ended
	}
	switch {
	case maybeApplied:
		return do.outcomeUnknown(err)
	case ended != nil && !do.changes:
		return ended
	case ended != nil || f.retryable:
		return unavailable(err)
	default:
		return err
	}
}

// outcomeUnknown returns the error for a call that may have been applied. If repeating the
// call could do harm, its message does not suggest that.
func (do call) outcomeUnknown(err error) error {
	unknown, ok := errors.AsType[*dibs.Error](err)
	if !ok || unknown.Code != dibs.CodeOutcomeUnknown {
		unknown = dibs.OutcomeUnknown(withoutCode(err))
	}
	if !do.repeatable {
		unknown.Message = "the change may have been applied; read the current state before you run it again, since another caller may have changed it meanwhile"
	}
	return unknown
}

func unavailable(err error) error {
	if known, ok := errors.AsType[*dibs.Error](err); ok {
		return known
	}
	return dibs.Unavailable(err)
}

// withoutCode returns what an error with a code wraps, or its message. An error with another
// code can wrap that and still match one code only.
func withoutCode(err error) error {
	known, ok := errors.AsType[*dibs.Error](err)
	if !ok {
		return err
	}
	return cmp.Or(known.Unwrap(), errors.New(known.Message))
}

// codeInvalidCursor is the server's code for [dibs.ErrBadCursor], which has no [dibs.Code].
const codeInvalidCursor = "INVALID_CURSOR"

// response is a response whose body has been read.
type response struct {
	status int
	header http.Header
	data   []byte
}

func (do call) decodeResponse(r response) *failure {
	if r.status < http.StatusOK || r.status >= http.StatusMultipleChoices {
		if do.anyStatus && r.isJSON() && do.decode(r.data) == nil {
			return nil
		}
		return r.failure()
	}
	if !r.isJSON() || r.mediaType() == "application/problem+json" {
		return &failure{maybeApplied: true, err: &StatusError{Status: r.status, Detail: fmt.Sprintf(
			"the response is %s, not a result in JSON: check the URL given to Dial; it may belong to another server or a proxy", r.mediaType())}}
	}
	if err := do.decode(r.data); err != nil {
		return &failure{maybeApplied: true, retryable: true, err: &StatusError{
			Status: r.status, Detail: fmt.Sprintf("invalid response to %s: %v", do.name, err),
		}}
	}
	return nil
}

// mediaType returns the media type of the body, for messages too.
func (r response) mediaType() string {
	media, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	if err != nil {
		return "without a content type"
	}
	return media
}

func (r response) isJSON() bool {
	media := r.mediaType()
	return media == "application/json" || strings.HasSuffix(media, "+json")
}

// failure classifies a response that does not have the expected status.
func (r response) failure() *failure {
	f := &failure{retryAfter: wire.RetryAfter(r.header)}
	if r.isJSON() {
		if err := json.Unmarshal(r.data, &f.problem); err != nil {
			f.err = &StatusError{Status: r.status, Detail: fmt.Sprintf("invalid response: %v", err)}
			f.retryable, f.maybeApplied = true, r.status >= http.StatusInternalServerError
			return f
		}
	}
	switch code := f.problem.Code; {
	case wire.IsCode(code):
		f.err = f.problem.DibsError()
		f.maybeApplied = code == string(dibs.CodeOutcomeUnknown)
		f.retryable = f.maybeApplied || code == string(dibs.CodeUnavailable)
		f.refused = !f.retryable
		return f
	case code == codeInvalidCursor:
		f.err, f.refused = dibs.ErrBadCursor, true
		return f
	}
	f.err = r.statusError(f.problem)
	switch r.status {
	case http.StatusTooManyRequests:
		f.retryable = true
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		// Most proxies send these before they forward the request, but not all.
		f.retryable, f.maybeApplied = true, true
	default:
		f.maybeApplied = r.status >= http.StatusInternalServerError
	}
	return f
}

// statusError returns the error for a status, with the server's own code and detail if
// the response has them.
func (r response) statusError(problem wire.Problem) *StatusError {
	e := &StatusError{Status: r.status, Detail: adviceFor(r.status)}
	if to := r.header.Get("Location"); to != "" {
		e.Detail = fmt.Sprintf("the server redirects to %.200q: give Dial the URL of the registry itself", to)
	}
	if problem.Code != "" {
		e.Code, e.Detail = problem.Code, problem.Detail
	}
	return e
}

// StatusError is a response that does not come from the registry itself: a missing or wrong
// key, an unknown path, a page of a proxy. Find it in an error with [errors.As].
type StatusError struct {
	Status int    // the HTTP status
	Code   string // the server's code, such as UNAUTHORIZED; empty if the response has none
	Detail string // what is wrong and what to do, for people
}

// Error returns status, code and detail.
func (e *StatusError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("dibs: the server answered %d %s", e.Status, http.StatusText(e.Status)))
	if e.Code != "" {
		text += ", " + e.Code
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

var advice = map[int]string{
	http.StatusUnauthorized:          "the server requires a valid API key or token: set Options.Key or Options.Token",
	http.StatusForbidden:             "the caller has no right to do this",
	http.StatusNotFound:              "unknown path: check the URL given to Dial",
	http.StatusRequestEntityTooLarge: "the request is too large: send less at once",
	http.StatusTooManyRequests:       "too many requests: try again later",
}

// adviceFor returns the detail for a response without one.
func adviceFor(status int) string {
	if status >= http.StatusInternalServerError {
		return "the server failed: see its log, or the log of a proxy in front of it"
	}
	return cmp.Or(advice[status], "not a response of a registry: check the URL given to Dial")
}
