package dibsclient

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// codeInvalidCursor is the server's code for [dibs.ErrBadCursor], which has no [dibs.Code].
const codeInvalidCursor = "INVALID_CURSOR"

// response is a response whose body has been read.
type response struct {
	status int
	header http.Header
	data   []byte
}

// decodeResponse decodes a response, or returns what is wrong with it.
func (do call) decodeResponse(r response) *failure {
	if r.status < http.StatusOK || r.status >= http.StatusMultipleChoices {
		if slices.Contains(do.alsoDecode, r.status) && r.isJSON() && do.decode(r.data) == nil {
			return nil
		}
		return r.failure()
	}
	if !r.isJSON() {
		return &failure{maybeApplied: true, err: &StatusError{Status: r.status, Detail: fmt.Sprintf(
			"the response is %s, not JSON: check the URL given to Dial; it may belong to another server or a proxy", r.mediaType())}}
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
	f := &failure{retryAfter: retryAfter(r.header)}
	var problem wire.Problem
	if r.isJSON() {
		if err := json.Unmarshal(r.data, &problem); err != nil {
			f.err = &StatusError{Status: r.status, Detail: fmt.Sprintf("invalid response: %v", err)}
			f.retryable, f.maybeApplied = true, r.status >= http.StatusInternalServerError
			return f
		}
		if problem.Code != "" {
			f.problem = &problem
		}
	}
	switch {
	case f.problem != nil && wire.IsCode(problem.Code):
		f.err = problem.DibsError()
		f.maybeApplied = problem.Code == string(dibs.CodeOutcomeUnknown)
		f.retryable = f.maybeApplied || problem.Code == string(dibs.CodeUnavailable)
		f.refused = !f.retryable
		return f
	case f.problem != nil && problem.Code == codeInvalidCursor:
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
func (r response) statusError(problem *wire.Problem) *StatusError {
	e := &StatusError{Status: r.status, Detail: adviceFor(r.status)}
	if to := r.header.Get("Location"); to != "" {
		e.Detail = fmt.Sprintf("the server redirects to %.200q: give Dial the URL of the registry itself", to)
	}
	if problem != nil {
		e.Code, e.Detail = problem.Code, problem.Detail
	}
	return e
}
