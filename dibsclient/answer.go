package dibsclient

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// codeInvalidCursor is the server's word for [dibs.ErrBadCursor], which has no code of
// its own.
const codeInvalidCursor = "INVALID_CURSOR"

// answer is a whole answer.
type answer struct {
	status int
	header http.Header
	data   []byte
}

// take reads an answer, or says what is wrong with it.
func (do call) take(a answer) *failure {
	if a.status < http.StatusOK || a.status >= http.StatusMultipleChoices {
		if do.reads != nil && do.reads(a.status) && a.isJSON() && do.read(a.data) == nil {
			return nil
		}
		return a.failure()
	}
	if !a.isJSON() {
		return &failure{mayHaveHappened: true, err: a.foreign()}
	}
	if err := do.read(a.data); err != nil {
		return &failure{mayHaveHappened: true, again: true, err: &StatusError{
			Status: a.status, Detail: fmt.Sprintf("its answer to %s makes no sense: %v", do.name, err),
		}}
	}
	return nil
}

func (a answer) isJSON() bool {
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// foreign is the error for an answer that somebody else gave.
func (a answer) foreign() *StatusError {
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil {
		media = "something without a type"
	}
	return &StatusError{Status: a.status, Detail: fmt.Sprintf("with %s, not with JSON: another server, or a proxy, stands at the URL that Dial was given", media)}
}

// failure says what an answer means that is not the one that was asked for.
func (a answer) failure() *failure {
	f := &failure{after: retryAfter(a.header)}
	var problem wire.Problem
	if a.isJSON() {
		if err := json.Unmarshal(a.data, &problem); err != nil {
			f.err = &StatusError{Status: a.status, Detail: fmt.Sprintf("its answer makes no sense: %v", err)}
			f.again, f.mayHaveHappened = true, a.status >= http.StatusInternalServerError
			return f
		}
		if problem.Code != "" {
			f.problem = &problem
		}
	}
	switch {
	case f.problem != nil && wire.IsCode(problem.Code):
		f.err = problem.DibsError()
		f.mayHaveHappened = problem.Code == string(dibs.CodeOutcomeUnknown)
		f.again = f.mayHaveHappened || problem.Code == string(dibs.CodeUnavailable)
		f.refused = !f.again
		return f
	case f.problem != nil && problem.Code == codeInvalidCursor:
		f.err, f.refused = dibs.ErrBadCursor, true
		return f
	}
	f.err = a.statusError(f.problem)
	switch a.status {
	case http.StatusTooManyRequests:
		f.again = true
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		// Most proxies say so before they have passed anything on. Not all do.
		f.again, f.mayHaveHappened = true, true
	default:
		f.mayHaveHappened = a.status >= http.StatusInternalServerError
	}
	return f
}

// statusError is the error for a status, with the server's words if it had any.
func (a answer) statusError(problem *wire.Problem) *StatusError {
	e := &StatusError{Status: a.status, Detail: adviceFor(a.status)}
	if to := a.header.Get("Location"); to != "" {
		e.Detail = fmt.Sprintf("it redirects to %.200q: give Dial the URL where the registry is", to)
	}
	if problem != nil {
		e.Code, e.Detail = problem.Code, problem.Detail
	}
	return e
}
