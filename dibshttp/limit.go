package dibshttp

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// limit is how many seconds an answer may be kept.
type limit int64

func limitOf(d time.Duration) limit { return limit(d / time.Second) }

// own is the Cache-Control of answers that are the same for everybody. Without
// must-revalidate a cache that is cut off might use them for longer.
func (l limit) own() string {
	if l == 0 {
		return "no-store"
	}
	return fmt.Sprintf("max-age=%d, must-revalidate", l)
}

// overriding are headers that some caches heed more than Cache-Control, and Expires, which
// old ones do.
var overriding = []string{"Expires", "Surrogate-Control", "Cdn-Cache-Control", "Cloudflare-Cdn-Cache-Control", "X-Accel-Expires"}

// prolonging are directives that let an answer be used after its time, or without asking
// when somebody reloads.
var prolonging = []string{"stale-while-revalidate", "stale-if-error", "immutable"}

// cap makes headers let nobody keep the answer for longer than the limit. It never lets
// anybody keep what they could not keep before.
func (l limit) cap(header http.Header, r *http.Request) {
	said := parseDirectives(header.Values("Cache-Control"))
	if expires := header.Get("Expires"); expires != "" && !said.has("max-age") {
		said = append(said, directive{"max-age", strconv.FormatInt(secondsUntil(expires), 10)})
	}
	for _, name := range overriding {
		header.Del(name)
	}
	said = said.without(prolonging...)
	switch {
	case said.has("no-store"):
	case l == 0 || !said.has("max-age") && !said.has("s-maxage"):
		said = said.without("max-age", "s-maxage").with("no-cache")
	default:
		said = l.shorten(said, r)
	}
	header.Set("Cache-Control", said.String())
}

// shorten cuts the times down. Without a max-age, a cache that does not know s-maxage
// would choose a time by itself.
func (l limit) shorten(said directives, r *http.Request) directives {
	for i, d := range said {
		if d.name == "max-age" || d.name == "s-maxage" {
			said[i].value = strconv.FormatInt(min(seconds(d.value), int64(l)), 10)
		}
	}
	if !said.has("max-age") {
		said = append(said, directive{"max-age", "0"})
	}
	if said.has("must-revalidate") {
		return said
	}
	// With must-revalidate a shared cache may keep what was asked for with a password.
	if r.Header.Get("Authorization") != "" && !said.has("public") && !said.has("s-maxage") {
		said = said.with("private")
	}
	return said.with("must-revalidate")
}

// seconds reads a time. One that is not well-formed counts as over, as caches count it,
// and one beyond all bounds as long.
func seconds(text string) int64 {
	n, err := strconv.ParseUint(strings.Trim(text, `"`), 10, 31)
	if err != nil && n == 0 {
		return 0
	}
	return int64(n)
}

// secondsUntil reads how far off a moment is; one that is not well-formed is over.
func secondsUntil(text string) int64 {
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return max(0, int64(time.Until(at)/time.Second))
}
