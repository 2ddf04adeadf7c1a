package server

import (
	"encoding/json"
	"fmt"
	"strings"
)

// odd reports whether the next value should be odd.
func (g *generator) odd() bool { return g.oddOneIn > 0 && g.oneIn(g.oddOneIn) }

// size returns a length, rarely a large one. A body may have a megabyte.
func (g *generator) size() int {
	if g.oneIn(8) {
		return pick(g.dice, 5000, 30_000, 60_000, 66_000, 300_000, 1_000_000)
	}
	return pick(g.dice, 1, 15, 17, 64, 129, 256, 300, 1025, 3000)
}

// oddText returns a text that is often handled wrongly.
func (g *generator) oddText() string {
	switch g.n(4) {
	case 0:
		return strings.Repeat(pick(g.dice, "a", "<", "é", "世", "\U0001F600", "\u0301", "-", ".", "%", "\x01", "/", `"`, `\`), min(g.size(), 66_000))
	case 1:
		return pick(g.dice, "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e400", "NaN", "null", "0x10", "-0", "1.5", " 1 ")
	case 2:
		return g.text(pick(g.dice, "namespace", "value", "reservationId", "cursor", "url", "token"))
	default:
		return pick(g.dice, "", " ", "\x00", "a\x00b", "\xff", "\xed\xa0\x80", "\u202e", "\ufeff", "ﷺ", "İ", "ſ", "Ⱥ", "a\u200db", "..", ".", "../..", "a/b", "%2e", "%", "*", "acme.*", "a.b.c.d.e.f.g.h.i",
			"SLUG", "slug.", ".slug", "slug:a", "'; drop table names; --", "{{.}}", "${x}", "\r\nX: y", "res_", "res_aaaaaaaaaaaaaaaaaaaaaaaaaa", "https://", "http://[::1", "http://169.254.169.254/", "javascript:x")
	}
}

// oddJSON returns JSON, or almost JSON, that does not fit.
func (g *generator) oddJSON() string {
	switch g.n(6) {
	case 0:
		return pick(g.dice, "null", "true", "0", "-1", "1.5", "1e400", "1e30", "-0.0", "9223372036854775807", "9223372036854775808", "18446744133710", "1E+2", `""`, "[]", "{}", "[[]]", "[null]", `{"":null}`, `{"a":{"b":[]}}`)
	case 1:
		return pick(g.dice, "nul", "'x'", "NaN", "Infinity", "01", "1.", "\"", "\"\\x\"", `"\ud800"`, `"\udfff\ud800"`, `"\u0000"`, "\"\x00\"", "\"\xff\"", "[1,]", "{,}", `{"a"}`, "//", "/**/1", "\ufeff1", "]", "}")
	case 2:
		n := g.size()
		part := pick(g.dice, "0", `""`, "{}", "[]", "null", `{"namespace":"any","value":"v"}`, `{"op":"rekey","namespace":"any","value":"v"}`)
		return "[" + part + strings.Repeat(","+part, min(n, 1_000_000/(len(part)+1))) + "]"
	case 3:
		open, end := "[", "]"
		if g.oneIn(2) {
			open, end = `{"a":`, "}"
		}
		n := min(g.size(), 100_000)
		return strings.Repeat(open, n) + "0" + strings.Repeat(end, n-g.n(2))
	case 4:
		var b strings.Builder
		for i := range min(g.size(), 60_000) {
			fmt.Fprintf(&b, `"%s%d":%s,`, pick(g.dice, "m", "<", "é"), i, pick(g.dice, "0", `""`, "{}"))
		}
		return "{" + b.String() + `"last":0}`
	default:
		return quoteJSON(g.oddText())
	}
}

// quoteJSON quotes a text as JSON, but keeps bytes that are not UTF-8.
func quoteJSON(text string) string {
	if strings.ContainsRune(text, '\uFFFD') || strings.ToValidUTF8(text, "") != text {
		return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(text) + `"`
	}
	data, _ := json.Marshal(text)
	return string(data)
}

// spoil changes a request as a whole, in half of the cases.
func (g *generator) spoil(r *fuzzedRequest) {
	switch g.n(12) {
	case 0:
		g.spoilBody(r)
	case 1:
		g.spoilHeaders(r)
	case 2:
		g.spoilTarget(r)
	case 3:
		r.framing = pick(g.dice, chunked, cutOff, asStreams)
	case 4:
		r.set("Content-Type", pick(g.dice, "", "text/plain", "application/json; charset=utf-16", "application/merge-patch+json", "multipart/form-data; boundary=x", strings.Repeat("x", g.n(5000)), "application/json, application/json"))
	case 5:
		r.method = pick(g.dice, "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW", strings.Repeat("M", 1+g.n(300)))
	}
}

func (g *generator) spoilBody(r *fuzzedRequest) {
	switch g.n(9) {
	case 0:
		r.body = r.body[:g.n(len(r.body)+1)]
	case 1:
		for range 1 + g.n(5) {
			if len(r.body) > 0 {
				at := g.n(len(r.body))
				r.body = r.body[:at] + string(rune(g.n(256))) + r.body[at+1:]
			}
		}
	case 2:
		r.body += pick(g.dice, "x", "{}", "\x00", "]", "}")
	case 3:
		r.body = "\ufeff" + r.body
	case 4: // up to the limit, and just over it
		r.body += strings.Repeat(" ", max(0, 1<<20-len(r.body)-2+g.n(4)))
	case 5:
		r.body = strings.Repeat(" ", 1<<20+g.n(1<<20))
	case 6:
		r.body = ""
	case 7:
		r.body = g.oddJSON()
	default: // members twice
		if i := strings.IndexByte(r.body, '{'); i >= 0 {
			r.body = r.body[:i+1] + strings.Repeat(`"namespace":"any","value":"v",`, 1+min(g.size(), 20_000)) + r.body[i+1:]
		}
	}
}

func (g *generator) spoilHeaders(r *fuzzedRequest) {
	switch g.n(6) {
	case 0:
		for i := range pick(g.dice, 10, 100, 1000) {
			r.add(fmt.Sprintf("X-%d", i), "v")
		}
	case 1:
		r.add(pick(g.dice, "X-Long", "Accept", "Cookie", "User-Agent", "Traceparent", "Authorization", "If-Match", "X-Forwarded-For"), strings.Repeat(pick(g.dice, "a", "\xff", ",", ";", "é", "1,"), g.n(60_000)))
	case 2:
		r.add(pick(g.dice, "Idempotency-Key", "Content-Type", "Authorization", "If-Match", "X-Forwarded-Uri"), strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(g.oddText()))
	case 3:
		r.add(pick(g.dice, "Authorization", "Proxy-Authorization"), pick(g.dice, "", "Bearer", "Bearer ", "Basic eDp5", "bearer key-all", "Bearer key-all x", "Bearer a.b.c", "Bearer "+strings.Repeat("a.", g.n(5000)), "Negotiate x"))
	case 4:
		name := pick(g.dice, "Origin", "Sec-Fetch-Site", "Access-Control-Request-Method", "X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "Via", "X-Real-Ip", "Cache-Control", "Range", "If-None-Match", "If-Modified-Since",
			"Traceparent", "Tracestate", "Baggage", "Content-Encoding", "Accept-Encoding", "Accept-Language", "Expect", "Upgrade", "Te", "Connection", "X-Http-Method-Override", "Last-Event-Id")
		r.add(name, pick(g.dice, "", "null", "http://evil.example", "cross-site", "POST", "127.0.0.1", "::1, 10.0.0.1", "for=unknown;host=x", "no-cache", "bytes=0-1,5-", "W/\"x\"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "gzip", "100-continue", "websocket", "close", "keep-alive, Upgrade"))
	default:
		r.set("Host", pick(g.dice, "", "x", "localhost:1", "evil.example", "[::1]:99999", strings.Repeat("a", g.n(300)), "a b"))
	}
}

func (g *generator) spoilTarget(r *fuzzedRequest) {
	path, query, _ := strings.Cut(r.target, "?")
	switch g.n(7) {
	case 0:
		r.target = path + "/" + escapePath(g.oddText())
	case 1:
		r.target = path + "?" + query + "&" + strings.Repeat("q=1&", min(g.size(), 15_000))
	case 2:
		var b strings.Builder
		for i := range min(g.size(), 8_000) {
			fmt.Fprintf(&b, "&u%d", i)
		}
		r.target = path + "?" + query + b.String()
	case 3:
		r.target = path + "?" + pick(g.dice, "limit=1;limit=2", "%zz=1", "limit=%", "limit=1&limit=2", "&&&", "=", "limit", "a[b]=c")
	case 4:
		r.target = pick(g.dice, "/", "/docs", "/docs/", "/docs/nope", "/openapi.json", "/openapi.yaml", "/openapi-3.0.json", "/metrics", "/healthz", "/readyz", "/nope", "*", "//v1//names", "/v1/../v1/names", "/v1/names/./x", "http://x/v1/names")
	case 5:
		r.target = strings.ToUpper(path)
	default:
		r.target = path[:g.n(len(path))+1]
	}
}
