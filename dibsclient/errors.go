package dibsclient

import (
	"cmp"
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
