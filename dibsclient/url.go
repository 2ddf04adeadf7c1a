package dibsclient

import (
	"net/url"
	"strconv"
	"strings"
)

// segment writes a text as one segment of a path. A segment of dots would be taken for
// another folder on the way.
func segment(text string) string {
	if text == "." || text == ".." {
		return strings.ReplaceAll(text, ".", "%2E")
	}
	return url.PathEscape(text)
}

// params makes a query of names and values, without those that are empty.
func params(pairs ...string) url.Values {
	q := make(url.Values)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// pageSize writes a limit as the library understands it: none means its default, and
// too many as many as there may be.
func pageSize(limit int) string {
	const most = 1000
	if limit <= 0 {
		return ""
	}
	return strconv.Itoa(min(limit, most))
}
