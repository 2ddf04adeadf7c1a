// Package redirect finds the name in a URL's path, and replaces it by another one. The rest of
// the path stays as it was sent, with its own encoding.
package redirect

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Prefix is the part of a path before the name, which is the next segment. The zero Prefix
// is "/".
type Prefix struct {
	segments []string // decoded; "*" is any
}

// ParsePrefix parses a prefix such as "/w/", or "/*/w/", where "*" stands for any one segment.
// An empty prefix is "/".
func ParsePrefix(prefix string) (Prefix, error) {
	if prefix == "" || prefix == "/" {
		return Prefix{}, nil
	}
	inner := strings.Trim(prefix, "/")
	if inner == "" || prefix != "/"+inner+"/" || strings.Contains(inner, "//") {
		return Prefix{}, fmt.Errorf("the prefix %q must begin and end with a slash, as in \"/w/\"", prefix)
	}
	return Prefix{segments: strings.Split(inner, "/")}, nil
}

// Match is a name in a path.
type Match struct {
	Value      string // decoded
	head, tail string // the rest of the path, as it was sent
}

// Find returns the name in an escaped path, such as [url.URL.EscapedPath] returns.
func (p Prefix) Find(path string) (Match, bool) {
	rest, ok := strings.CutPrefix(path, "/")
	for _, want := range p.segments {
		if !ok {
			return Match{}, false
		}
		var segment string
		segment, rest, ok = strings.Cut(rest, "/")
		got, err := url.PathUnescape(segment)
		if err != nil || got == "" || (want != "*" && want != got) {
			return Match{}, false
		}
	}
	segment, _, _ := strings.Cut(rest, "/")
	value, err := url.PathUnescape(segment)
	if !ok || err != nil || value == "" {
		return Match{}, false
	}
	return Match{Value: value, head: path[:len(path)-len(rest)], tail: rest[len(segment):]}, true
}

// FindIn returns the name in a URL, whose query is part of the rest.
func (p Prefix) FindIn(u *url.URL) (Match, bool) {
	found, ok := p.Find(u.EscapedPath())
	if ok && (u.RawQuery != "" || u.ForceQuery) {
		found.tail += "?" + u.RawQuery
	}
	return found, ok
}

// Replace returns the path with another name. It begins with one slash, never two, which a
// browser would take for a host: neither a segment before the name nor the name is empty. The
// names "." and ".." are refused: as a segment, in any encoding, they stand for another path.
func (m Match) Replace(name string) (path string, ok bool) {
	if name == "" || isDots(name) {
		return "", false
	}
	return m.head + url.PathEscape(name) + m.tail, true
}

// HasDots reports whether a segment of an escaped path is "." or "..". Programs that clean such
// a path see another one than programs that do not.
func HasDots(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if decoded, err := url.PathUnescape(segment); err == nil && isDots(decoded) {
			return true
		}
	}
	return false
}

func isDots(segment string) bool { return segment == "." || segment == ".." }

// Status returns the status of a redirect for a method. Only 307 and 308 make clients repeat
// methods other than GET and HEAD unchanged.
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
