package dibsclient

import (
	"fmt"
	"net/http"
	"strings"
)

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

// adviceFor returns the detail for a status for which the server gave none.
func adviceFor(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "the server requires a valid API key or token: set Options.Key or Options.Token"
	case status == http.StatusForbidden:
		return "the caller has no right to do this"
	case status == http.StatusNotFound:
		return "unknown path: check the URL given to Dial"
	case status == http.StatusRequestEntityTooLarge:
		return "the request is too large: send less at once"
	case status == http.StatusTooManyRequests:
		return "too many requests: try again later"
	case status >= http.StatusInternalServerError:
		return "the server failed: see its log, or the log of a proxy in front of it"
	default:
		return "not a response of a registry: check the URL given to Dial"
	}
}
