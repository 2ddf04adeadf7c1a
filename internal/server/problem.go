package server

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

const (
	problemType = "application/problem+json"
	// retryAfter is when to come again if the engine could not be reached, in seconds.
	retryAfter = "1"
)

// problem is a wire.Problem as an error.
type problem struct {
	wire.Problem
	keep     string      // its Cache-Control, if it may be kept at all
	header   http.Header // further ones, nil for none
	badToken bool        // there was a key or a token, and it was not good
	encoded  []byte      // as JSON, if it was made beforehand
}

// Error returns code and detail.
func (p *problem) Error() string { return p.Code + ": " + p.Detail }

// GetStatus returns the HTTP status.
func (p *problem) GetStatus() int { return p.Status }

// ContentType is that of RFC 9457.
func (p *problem) ContentType(string) string { return problemType }

// GetHeaders says how long to keep it, and when to come again where that may help.
func (p *problem) GetHeaders() http.Header {
	h := http.Header{}
	maps.Copy(h, p.header)
	if p.keep != "" {
		h.Set("Cache-Control", p.keep)
	}
	switch p.Status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		if h.Get("Retry-After") == "" {
			h.Set("Retry-After", retryAfter)
		}
	case http.StatusUnauthorized:
		challenge := `Bearer realm="dibs"`
		if p.badToken { // RFC 6750, section 3.1
			challenge += `, error="invalid_token"`
		}
		h.Set("WWW-Authenticate", challenge)
	}
	return h
}

func newProblem(status int, code, detail string) *problem {
	return &problem{Problem: *wire.NewProblem(status, code, detail)}
}

// problemOf turns an error of the Registry into an answer. What is not meant for callers
// is logged, and not told.
func (s *Server) problemOf(err error) *problem {
	var refused *dibs.Error
	switch {
	case errors.As(err, &refused):
		refused = s.withCause(refused)
		s.tellFailure(refused)
		return &problem{Problem: *wire.ProblemOf(refused)}
	case errors.Is(err, dibs.ErrBadCursor):
		return newProblem(http.StatusUnprocessableEntity, "INVALID_CURSOR", "there is no such cursor: use one from this server, or none to begin at the beginning")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		late := dibs.Unavailable(err)
		late.Message = "it took too long; try again"
		return &problem{Problem: *wire.ProblemOf(s.withCause(late))}
	default:
		s.cfg.Logger.Error("a request failed", "error", err)
		return newProblem(http.StatusInternalServerError, "INTERNAL", "something went wrong inside; the server's log says what")
	}
}

// withCause adds what is known to be wrong with the store to an error that does not say
// why: its caller has waited until its own time was over, say.
func (s *Server) withCause(e *dibs.Error) *dibs.Error {
	if s.cfg.Health == nil || e.Cause != "" || !errors.Is(e, context.DeadlineExceeded) {
		return e
	}
	cause, _ := s.cfg.Health.Failing()
	return e.Because(cause)
}

// dibsCause returns what an engine says is wrong with it.
func dibsCause(err error) dibs.Cause {
	if e, ok := errors.AsType[*dibs.Error](err); ok {
		return e.Cause
	}
	return ""
}

var problemsOnce sync.Once

// useProblems makes all errors of the API library problems of ours.
func useProblems() {
	problemsOnce.Do(func() {
		huma.ValidateStrictCasing = true // a member by another name is an unknown one
		huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
			if message == "cannot read request body" { // the client broke off: nothing went wrong here
				return newProblem(http.StatusBadRequest, "INVALID_REQUEST", "the body is not as long as was said")
			}
			return problemFrom(status, message, errs)
		}
	})
}

// nameMember lets the detail name the first member that is wrong, for those who read
// nothing else.
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

// codeOf names a status that the rules of names do not know.
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

// writeProblem answers with a problem outside of the API library.
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
