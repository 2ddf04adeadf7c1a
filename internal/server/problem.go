package server

import (
	"cmp"
	"context"
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
	problemType = wire.ProblemType
	maxProblem  = wire.MaxProblem // bytes of its JSON
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
	p.SetRetryAfter(h)
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
	if refused := wire.RefusalIn(err); refused != nil {
		refused = s.withCause(refused)
		s.logFailure(refused)
		err = refused
	}
	p, known := wire.ProblemFor(err)
	if !known {
		s.cfg.Logger.Error("request failed", "error", err)
	}
	return &problem{Problem: *p}
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
	maps.Copy(w.Header(), p.header)
	if p.encoded == nil {
		p.Send(w)
		return
	}
	p.SendEncoded(w, p.encoded)
}

// maxErrors is how many validation errors of a request a problem lists.
const maxErrors = 20

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
		p.Errors = append(p.Errors, wire.AndMore(more))
	}
	return p
}

// tooLong reports whether an error is about a list with too many elements, or a body with too
// many values.
func tooLong(message string) bool {
	return strings.HasPrefix(message, "expected array length <=") || strings.HasSuffix(message, moreValues) || strings.HasSuffix(message, moreElements)
}
