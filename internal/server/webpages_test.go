package server

import (
	"bufio"
	"html"
	"io"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/limit"
)

// Every page has a content security policy that allows its own content.
func TestPagesInBrowsers(t *testing.T) {
	t.Parallel()
	notRaced(t)
	r := newRig(t, inMemory, nil)
	for _, path := range []string{"/", "/docs/", "/docs/start.js", "/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js", "/docs/favicon-32x32.png", "/docs/oauth2-redirect.html", "/docs/nope"} {
		res, text := r.send(http.MethodGet, path, nil, "")
		if wantOK := path != "/docs/nope"; (res.status == http.StatusOK) != wantOK {
			t.Errorf("%s is %d", path, res.status)
		}
		policy := res.header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s lacks %s: %s", path, part, policy)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("%s allows too much: %s", path, policy)
		}
		for name, want := range map[string]string{"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
			if got := res.header.Get(name); got != want {
				t.Errorf("%s has the %s %q", path, name, got)
			}
		}
		for _, style := range regexp.MustCompile(`(?s)<style[^>]*>(.*?)</style>`).FindAllStringSubmatch(text, -1) {
			if !strings.Contains(policy, hashOf(style[1])) {
				t.Errorf("the style in %s is not allowed there", path)
			}
		}
	}
	_, docs := r.send(http.MethodGet, "/docs/", nil, "")
	if regexp.MustCompile(`<script>|<style|style=|\son[a-z]+=`).MatchString(docs) {
		t.Errorf("/docs/ has scripts or styles of its own: %s", docs)
	}
	for _, src := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(docs, -1) {
		if res, _ := r.send(http.MethodGet, src[1], nil, ""); res.status != http.StatusOK {
			t.Errorf("%s of /docs/ is %d", src[1], res.status)
		}
	}
}

// The start page shows the address by which its visitor came, and a key where one is needed.
func TestStartPage(t *testing.T) {
	t.Parallel()
	open := newRig(t, inMemory, nil)
	behindProxy := newRig(t, inMemory, scriptCallers, func(c *Config) {
		c.Limits.Proxies = limit.Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Header: limit.XForwardedFor}
	})
	page := func(r *rig, host string, header http.Header) string {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, r.http.URL+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host, req.Header = host, header
		res, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%d, %v: %s", res.StatusCode, err, text)
		}
		return html.UnescapeString(string(text))
	}
	const key = `-H "Authorization: Bearer $DIBS_KEY"`
	forwarded := http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"names.example.com"}, "X-Forwarded-For": {"192.0.2.1"}}
	for name, c := range map[string]struct {
		rig    *rig
		host   string
		header http.Header
		url    string
		key    bool
	}{
		"direct":          {open, strings.TrimPrefix(open.http.URL, "http://"), nil, open.http.URL, false},
		"by a name":       {open, "localhost:8123", nil, "http://localhost:8123", false},
		"untrusted proxy": {open, "localhost:8123", forwarded, "http://localhost:8123", false},
		"proxy":           {behindProxy, "127.0.0.1:8080", forwarded, "https://names.example.com", true},
		"no shell":        {open, "x$(date)", nil, "http://localhost", false},
	} {
		text := page(c.rig, c.host, c.header)
		for _, path := range []string{"/v1/reservations", "/v1/reservations/RESERVATION_ID/confirm", "/v1/resolve/slug/alice-bob"} {
			want := "curl -s " + c.url + path
			if c.key {
				want += " " + key
			}
			if !strings.Contains(text, want) || !c.key && strings.Contains(text, "Authorization") {
				t.Errorf("%s: the page lacks %s\n%s", name, want, text)
			}
		}
	}
}

// Every error is a problem, for every method and path.
func TestErrorsAreProblems(t *testing.T) {
	t.Parallel()
	notRaced(t)
	r := newRig(t, inMemory, nil)
	doc := readDocument(r)
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} {
		for _, path := range []string{
			"/", "/nope", "/docs", "/docs/", "/docs/nope", "/docs/a/b", "/docs/start.js/x", "/docs/%2e%2e", "/docs/swagger-ui.css.gz", "/openapi.json", "/openapi.yaml", "/openapi-3.0.json",
			"/openapi", "/schemas/Problem.json", "/metrics", "/metrics/x", "/healthz", "/readyz", "/v1", "/v1/", "/v1/nope", "/v1/names/a", "/v1/reservations", "/v1/apply", "/v1/events/x", "/favicon.ico",
		} {
			res, text := r.send(method, path, http.Header{"Range": {"bytes=99999999-"}}, "")
			if res.status < 400 {
				continue
			}
			if got := res.header.Get("Content-Type"); got != problemType {
				t.Errorf("%s %s is %d as %s: %s", method, path, res.status, got, text)
			}
			if res.status >= 500 {
				t.Errorf("%s %s is %d", method, path, res.status)
			}
			if method != "HEAD" {
				doc.checkUndescribed(t, method+" "+path, res, text)
			}
		}
	}
}

// Only errors of net/http itself, before there is a request, are plain text.
func TestNoRequestAtAll(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil)
	for _, c := range []struct{ head, want string }{
		{"GARBAGE\r\n\r\n", "text/plain; charset=utf-8"},
		{"GET / HTTP/1.1\r\n\r\n", "text/plain; charset=utf-8"}, // no Host
		{"GET / HTTP/1.1\r\nHost: x\r\nBad Header: x\r\n\r\n", "text/plain; charset=utf-8"},
		{"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", "text/plain; charset=utf-8"},
		{"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", "text/plain; charset=utf-8"},
		{"CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n", problemType},
		{"CONNECT /v1/names HTTP/1.1\r\nHost: x\r\n\r\n", problemType},
		{"GET http://elsewhere/nope HTTP/1.1\r\nHost: x\r\n\r\n", problemType},
		{"GET nope HTTP/1.1\r\nHost: x\r\n\r\n", "text/plain; charset=utf-8"},
		{"GET /nope HTTP/1.0\r\n\r\n", problemType},
		{"get /v1/names HTTP/1.1\r\nHost: x\r\n\r\n", problemType},
		{"POST /v1/check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", problemType},
	} {
		conn := dial(r)
		if _, err := io.WriteString(conn, c.head); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%q: %v", c.head, err)
			continue
		}
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		got := res.Header.Get("Content-Type")
		if got != c.want || res.StatusCode < 400 || res.StatusCode >= 500 || got == "text/plain; charset=utf-8" && res.StatusCode != http.StatusBadRequest {
			t.Errorf("%q is %d %s: %s", c.head, res.StatusCode, got, text)
		}
	}
}

// Compressed files are never decompressed: that takes far longer than to send them.
func TestFilesAreSentCompressed(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil)
	const path = "/docs/swagger-ui-bundle.js"
	if res, text := r.send(http.MethodGet, path, http.Header{"Accept-Encoding": {"identity"}}, ""); res.status != http.StatusNotAcceptable {
		t.Errorf("it is %d, %d bytes", res.status, len(text))
	}
	if res, _ := r.send(http.MethodGet, path, http.Header{"Accept-Encoding": {"gzip, br"}}, ""); res.status != http.StatusOK || res.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("it is %d, %q", res.status, res.header.Get("Content-Encoding"))
	}
}
