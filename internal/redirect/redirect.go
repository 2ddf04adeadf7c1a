// Package redirect finds the name in a URL's path, and the path with another name in its
// place. It works on paths as they were sent: nothing but the name is encoded anew.
package redirect

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Place is where in a path the name stands: in the segment behind a prefix. The zero
// Place is the first segment.
type Place struct {
	before []string // segments of the prefix, decoded; "*" is any
}

// Behind returns the Place behind a prefix such as "/w/", or "/*/w/", where "*" stands
// for any one segment. An empty prefix is "/".
func Behind(prefix string) (Place, error) {
	if prefix == "" || prefix == "/" {
		return Place{}, nil
	}
	inner := strings.Trim(prefix, "/")
	if inner == "" || prefix != "/"+inner+"/" || strings.Contains(inner, "//") {
		return Place{}, fmt.Errorf("the prefix %q is none: it begins and ends with a slash, as in \"/w/\"", prefix)
	}
	return Place{before: strings.Split(inner, "/")}, nil
}

// Found is a name in a path, with what stands around it.
type Found struct {
	Value      string // decoded
	head, tail string // as they were sent
}

// Find returns the name in an escaped path, such as [url.URL.EscapedPath] returns.
func (p Place) Find(path string) (Found, bool) {
	rest, ok := strings.CutPrefix(path, "/")
	for _, want := range p.before {
		if !ok {
			return Found{}, false
		}
		var segment string
		segment, rest, ok = strings.Cut(rest, "/")
		got, err := url.PathUnescape(segment)
		if err != nil || got == "" || (want != "*" && want != got) {
			return Found{}, false
		}
	}
	segment, _, _ := strings.Cut(rest, "/")
	value, err := url.PathUnescape(segment)
	if !ok || err != nil || value == "" {
		return Found{}, false
	}
	return Found{Value: value, head: path[:len(path)-len(rest)], tail: rest[len(segment):]}, true
}

// With returns the path with another name in place of the one found. It begins with one
// slash, never two, which a browser would take for a host: no segment before the name is
// empty, nor is the name. There is no path for a name of dots alone, which means another
// path, however it is encoded.
func (f Found) With(name string) (path string, ok bool) {
	if name == "" || isDots(name) {
		return "", false
	}
	return f.head + url.PathEscape(name) + f.tail, true
}

// HasDots reports whether a segment of an escaped path is "." or "..". Who cleans such a
// path up sees another one than who does not.
func HasDots(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if decoded, err := url.PathUnescape(segment); err == nil && isDots(decoded) {
			return true
		}
	}
	return false
}

func isDots(segment string) bool { return segment == "." || segment == ".." }

// Status returns the status of a redirect for a method. All but GET and HEAD are to be
// sent again as they are, which only 307 and 308 say.
func Status(status int, method string) int {
	if method == http.MethodGet || method == http.MethodHead {
		return status
	}
	switch status {
	case http.StatusMovedPermanently:
		return http.StatusPermanentRedirect
	case http.StatusFound:
		return http.StatusTemporaryRedirect
	default:
		return status
	}
}
