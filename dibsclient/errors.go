package dibsclient

import (
	"fmt"
	"net/http"
	"strings"
)

// StatusError is an answer that is none of the registry's: no or a wrong key, a path
// that is not there, a page of a proxy. Take it out of an error with [errors.As].
type StatusError struct {
	Status int    // of HTTP
	Code   string // the server's own, such as UNAUTHORIZED; empty where it said none
	Detail string // what is wrong and what to do next, for a person
}

// Error returns status, code and detail.
func (e *StatusError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "dibs: the server answered %d", e.Status)
	if text := http.StatusText(e.Status); text != "" {
		b.WriteString(" " + text)
	}
	if e.Code != "" {
		b.WriteString(", " + e.Code)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	return b.String()
}

// adviceFor says what to do about a status for which the server had no words.
func adviceFor(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "it wants an API key or a token, or does not know this one: see Options.Key and Options.Token"
	case status == http.StatusForbidden:
		return "who asks has no right to do that"
	case status == http.StatusNotFound:
		return "there is no such call at this address: check the URL that Dial was given"
	case status == http.StatusRequestEntityTooLarge:
		return "the request is too large: send less at once"
	case status == http.StatusTooManyRequests:
		return "too many requests: try again later"
	case status >= http.StatusInternalServerError:
		return "it failed; its log, or that of a proxy before it, says why"
	default:
		return "this is no answer of a registry: check the URL that Dial was given"
	}
}
