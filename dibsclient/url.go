package dibsclient

import (
	"net/url"
	"strconv"
	"strings"
)

// pathSegment escapes a text as one segment of a path. Proxies would take a segment of dots
// for a relative path.
func pathSegment(text string) string {
	if text == "." || text == ".." {
		return strings.ReplaceAll(text, ".", "%2E")
	}
	return url.PathEscape(text)
}

// params returns a query of pairs of name and value, without those whose value is empty.
func params(pairs ...string) url.Values {
	q := make(url.Values)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// pageSize formats a limit as the library defines it: zero or less means the default, and
// too many means the maximum.
func pageSize(limit int) string {
	if limit <= 0 {
		return ""
	}
	return strconv.Itoa(min(limit, maxPerPage))
}
