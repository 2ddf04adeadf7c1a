package dibshttp

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
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
		list = append(list, "max-age="+strconv.FormatInt(secondsUntil(expires), 10))
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
	header.Set("Cache-Control", strings.Join(list, ", "))
}

// shorten lowers the ages to the maximum. It adds a max-age, since a cache that does not
// know s-maxage would choose an age by itself.
func (m maxAge) shorten(list directives, r *http.Request) directives {
	for i, d := range list {
		if name, value, _ := strings.Cut(d, "="); isAge(name) {
			list[i] = name + "=" + strconv.FormatInt(min(parseSeconds(value), int64(m)), 10)
		}
	}
	if !list.has("max-age") {
		list = append(list, "max-age=0")
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

// directives are those of Cache-Control, such as max-age=60. Names are in lower case, and values
// as written, including quotes.
type directives []string

// parseDirectives reads the lines of Cache-Control. If a quote is not closed, caches may
// read the header in different ways: then it returns no-store.
func parseDirectives(lines []string) (list directives) {
	words, ok := splitUnquoted(strings.Join(lines, ","))
	if !ok {
		return directives{"no-store"}
	}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		if name = strings.ToLower(strings.TrimSpace(name)); name == "" {
			continue
		}
		if value = strings.TrimSpace(value); value != "" {
			name += "=" + value
		}
		list = append(list, name)
	}
	return list
}

// splitUnquoted splits at commas outside of quotes, and reports whether all quotes are
// closed.
func splitUnquoted(text string) (words []string, ok bool) {
	quoted, escaped := false, false
	words = strings.FieldsFunc(text, func(c rune) bool {
		switch {
		case escaped:
			escaped = false
		case c == '\\' && quoted:
			escaped = true
		case c == '"':
			quoted = !quoted
		default:
			return c == ',' && !quoted
		}
		return false
	})
	return words, !quoted
}

// has reports whether a directive is present without a list of header fields, which would
// restrict it to these.
func (d directives) has(name string) bool {
	return slices.ContainsFunc(d, func(one string) bool {
		return one == name || isAge(name) && strings.HasPrefix(one, name+"=")
	})
}

// isAge reports whether a directive has a number of seconds.
func isAge(name string) bool { return name == "max-age" || name == "s-maxage" }

// with returns the directives with one that has no value.
func (d directives) with(name string) directives {
	if d.has(name) {
		return d
	}
	return append(d, name)
}

func (d directives) without(names ...string) directives {
	return slices.DeleteFunc(d, func(one string) bool {
		name, _, _ := strings.Cut(one, "=")
		return slices.Contains(names, name)
	})
}

// cappedWriter caps the Cache-Control of a response before its headers are sent.
type cappedWriter struct {
	http.ResponseWriter
	maxAge  maxAge
	request *http.Request
	sent    bool // the headers are sent
}

// capHeaders caps the headers unless they are sent. It is called before every way to send
// them, and at the end for responses without a body.
func (c *cappedWriter) capHeaders() {
	if !c.sent {
		c.sent = true
		c.maxAge.cap(c.Header(), c.request)
	}
}

// WriteHeader caps the headers and sends them. Caches do not keep informational responses
// such as early hints, so their headers are sent as they are.
func (c *cappedWriter) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		c.capHeaders()
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write sends the headers, if they are not sent, and a part of the body.
func (c *cappedWriter) Write(b []byte) (int, error) {
	c.capHeaders()
	return c.ResponseWriter.Write(b)
}

// ReadFrom is Write for files, which the operating system may copy by itself.
func (c *cappedWriter) ReadFrom(from io.Reader) (int64, error) {
	c.capHeaders()
	return io.Copy(c.ResponseWriter, from)
}

// Unwrap is for [http.ResponseController].
func (c *cappedWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Flush is for code that does not use [http.ResponseController].
func (c *cappedWriter) Flush() { _ = c.FlushError() }

// FlushError sends the headers and the buffered part of the body.
func (c *cappedWriter) FlushError() error {
	c.capHeaders()
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// Hijack is for code that does not use [http.ResponseController].
func (c *cappedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(c.ResponseWriter).Hijack()
}
