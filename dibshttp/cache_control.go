package dibshttp

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxAge is how many seconds caches may keep a response.
type maxAge int64

// shared returns the Cache-Control of responses that are the same for every client. Without
// must-revalidate a cache that cannot reach the server might use them for longer.
func (m maxAge) shared() string {
	if m == 0 {
		return "no-store"
	}
	return fmt.Sprintf("max-age=%d, must-revalidate", m)
}

// overriding are headers that some caches prefer to Cache-Control, and Expires, which old
// caches use.
var overriding = []string{"Expires", "Surrogate-Control", "Cdn-Cache-Control", "Cloudflare-Cdn-Cache-Control", "X-Accel-Expires"}

// prolonging are directives that let a cache use a response after its max-age, or without
// revalidation on a reload.
var prolonging = []string{"stale-while-revalidate", "stale-if-error", "immutable"}

// cap changes headers so that no cache keeps the response for longer than the maximum age.
// It never permits more than the headers did before.
func (m maxAge) cap(header http.Header, r *http.Request) {
	list := parseDirectives(header.Values("Cache-Control"))
	if expires := header.Get("Expires"); expires != "" && !list.has("max-age") {
		list = append(list, directive{"max-age", strconv.FormatInt(secondsUntil(expires), 10)})
	}
	for _, name := range overriding {
		header.Del(name)
	}
	list = list.without(prolonging...)
	switch {
	case list.has("no-store"):
	case m == 0 || !list.has("max-age") && !list.has("s-maxage"):
		list = list.without("max-age", "s-maxage").with("no-cache")
	default:
		list = m.shorten(list, r)
	}
	header.Set("Cache-Control", list.String())
}

// shorten lowers the ages to the maximum. It adds a max-age, since a cache that does not
// know s-maxage would choose an age by itself.
func (m maxAge) shorten(list directives, r *http.Request) directives {
	for i, d := range list {
		if d.name == "max-age" || d.name == "s-maxage" {
			list[i].value = strconv.FormatInt(min(parseSeconds(d.value), int64(m)), 10)
		}
	}
	if !list.has("max-age") {
		list = append(list, directive{"max-age", "0"})
	}
	if list.has("must-revalidate") {
		return list
	}
	// must-revalidate permits a shared cache to keep responses to requests with credentials.
	if r.Header.Get("Authorization") != "" && !list.has("public") && !list.has("s-maxage") {
		list = list.with("private")
	}
	return list.with("must-revalidate")
}

// parseSeconds reads an age. Like caches do, it takes an invalid one for zero, and one that
// is out of range for the greatest.
func parseSeconds(text string) int64 {
	n, _ := strconv.ParseUint(strings.Trim(text, `"`), 10, 31) // returns these values along with its errors
	return int64(n)
}

// secondsUntil reads a date and returns how far off it is, zero for an invalid one.
func secondsUntil(text string) int64 {
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return max(0, int64(time.Until(at)/time.Second))
}
