package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

const (
	problemType = "application/problem+json"
	// retryAfter is the default of Retry-After, in seconds.
	retryAfter = "1"
)

// problem is a wire.Problem as an error.
type problem struct {
	wire.Problem
	header  http.Header // may be nil
	encoded []byte      // the JSON, if encoded beforehand
}

// Error returns code and detail.
func (p *problem) Error() string { return p.Code + ": " + p.Detail }

// GetStatus returns the HTTP status.
func (p *problem) GetStatus() int { return p.Status }

// ContentType is that of RFC 9457.
func (p *problem) ContentType(string) string { return problemType }

// GetHeaders returns the headers, with Retry-After if a retry may help.
func (p *problem) GetHeaders() http.Header {
	h := http.Header{}
	maps.Copy(h, p.header)
	retry := p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests
	if retry && h.Get("Retry-After") == "" {
		h.Set("Retry-After", retryAfter)
	}
	return h
}

func newProblem(status int, code, detail string) *problem {
	return &problem{Problem: *wire.NewProblem(status, code, detail)}
}

// problemOf returns the problem for an error of a handler, the Registry or the webhooks. An error
// that callers must not see is only logged.
func (s *Server) problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if p := cmp.Or(webhookProblem(err), keyProblem(err)); p != nil {
		return p
	}
	var refused *dibs.Error
	switch {
	case errors.As(err, &refused):
		refused = s.withCause(refused)
		s.logFailure(refused)
		return &problem{Problem: *wire.ProblemOf(refused)}
	case errors.Is(err, dibs.ErrBadCursor):
		return newProblem(http.StatusUnprocessableEntity, "INVALID_CURSOR", "invalid cursor: use one from this server, or none to start from the beginning")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		late := dibs.Unavailable(err)
		late.Message = "the request timed out; try again"
		return &problem{Problem: *wire.ProblemOf(s.withCause(late))}
	default:
		s.cfg.Logger.Error("request failed", "error", err)
		return newProblem(http.StatusInternalServerError, "INTERNAL", "internal error; see the server's log")
	}
}

// withCause adds the known trouble of the store to an error without a cause, such as a request
// that timed out.
func (s *Server) withCause(e *dibs.Error) *dibs.Error {
	if e.Cause != "" || !errors.Is(e, context.DeadlineExceeded) {
		return e
	}
	cause, _ := s.cfg.Health.Failing()
	return e.Because(cause)
}

// useProblems makes the API library answer all errors with our problems.
var useProblems = sync.OnceFunc(func() {
	huma.ValidateStrictCasing = true // a member in another case is unknown
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		if message == "cannot read request body" { // the client disconnected
			return newProblem(http.StatusBadRequest, "INVALID_REQUEST", "the body is shorter than its Content-Length")
		}
		return problemFrom(status, message, errs)
	}
})

// nameMember puts the first failure into the detail and the field, for clients that read nothing
// else.
func (p *problem) nameMember() {
	if len(p.Errors) == 0 {
		return
	}
	first := p.Errors[0]
	if member, ok := strings.CutPrefix(first.Location, "body."); ok {
		p.Field = member
	}
	if missing, ok := strings.CutPrefix(first.Detail, "expected required property "); ok {
		missing, _, _ = strings.Cut(missing, " ")
		p.Field = strings.TrimPrefix(strings.TrimPrefix(first.Location+"."+missing, "body"), ".")
	}
	p.Detail = strings.TrimSuffix(p.Detail+": "+strings.TrimSpace(first.Location+" "+first.Detail), ": ")
}

// codeOf returns the code for a status of the server's own.
func codeOf(status int) string {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return "INVALID_REQUEST"
	case http.StatusRequestEntityTooLarge:
		return "BODY_TOO_LARGE"
	}
	text := http.StatusText(status)
	if text == "" {
		return "ERROR"
	}
	return strings.ReplaceAll(strings.ToUpper(text), " ", "_")
}

// writeProblem writes a problem without the API library.
func writeProblem(w http.ResponseWriter, p *problem) {
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	if p.encoded != nil {
		_, _ = w.Write(p.encoded)
		return
	}
	if data, err := p.MarshalJSON(); err == nil {
		_, _ = w.Write(append(data, '\n'))
	}
}

const (
	// maxErrors is how many validation errors of a request a problem lists.
	maxErrors = 20
	// maxProblem is how many bytes a problem may have as JSON.
	maxProblem = 64 << 10
	// maxDetail is how many bytes a text keeps in a problem that would be too large.
	maxDetail = 1 << 10
)

// problemFrom makes a problem of the API library's validation errors. The library's own problem
// would repeat rejected values, and so leak emails and tokens.
func problemFrom(status int, message string, errs []error) *problem {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	listed := errs[:min(len(errs), maxErrors)]
	failures := make([]wire.Failure, len(listed))
	code := codeOf(status)
	for i, err := range listed {
		var detailer huma.ErrorDetailer
		if errors.As(err, &detailer) {
			d := detailer.ErrorDetail()
			failures[i] = wire.Failure{Location: d.Location, Detail: d.Message}
		} else {
			failures[i] = wire.Failure{Detail: err.Error()}
		}
		if tooLong(failures[i].Detail) { // the code that the rules use
			status, code = http.StatusUnprocessableEntity, string(dibs.CodeTooLarge)
		}
	}
	p := newProblem(status, code, message)
	p.Errors = failures
	p.nameMember()
	if more := len(errs) - len(listed); more > 0 {
		p.Errors = append(p.Errors, andMore(more))
	}
	return p
}

func andMore(n int) wire.Failure { return wire.Failure{Detail: "and " + thousands(n) + " more"} }

// tooLong reports whether an error is about a list with too many elements, or a body with too
// many values.
func tooLong(message string) bool {
	return strings.HasPrefix(message, "expected array length <=") || strings.HasSuffix(message, moreThanAllowed)
}

// MarshalJSON writes a problem in at most maxProblem bytes: problems repeat parts of requests,
// and a problem about a list has a failure for each element. The report of a recanonicalization
// is not shortened: the caller asked for it.
func (p *problem) MarshalJSON() ([]byte, error) {
	data, err := marshal(&p.Problem)
	if err != nil || len(data) <= maxProblem || p.Report != nil {
		return data, err
	}
	short := p.Problem
	short.Detail, short.Field, short.Suggestions = cut(p.Detail, maxDetail), cut(p.Field, maxDetail), nil
	short.Errors = nil
	head, err := marshal(&short)
	if err != nil {
		return nil, err
	}
	short.Errors, _ = fit(p.Errors, maxProblem-len(head)-10*overhead)
	return marshal(&short)
}

// overhead is an upper bound of the JSON around a failure: a comma, the member with its parts,
// and the count of further ones.
const overhead = 100

// fit returns the first failures that fit into room bytes of JSON, with long texts cut, and the
// bytes that are left.
func fit(failures []wire.Failure, room int) (kept []wire.Failure, left int) {
	for i, f := range failures {
		f.Location, f.Detail, f.Field = cut(f.Location, maxDetail), cut(f.Detail, maxDetail), cut(f.Field, maxDetail)
		parts := f.Errors
		f.Errors = nil
		data, err := marshal(f)
		if err != nil || len(data)+2*overhead > room {
			return append(kept, andMore(len(failures)-i)), room - overhead
		}
		f.Errors, room = fit(parts, room-len(data)-overhead)
		kept = append(kept, f)
	}
	return kept, room
}

// marshal is json.Marshal without HTML escapes, like all responses.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
