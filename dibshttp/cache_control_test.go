package dibshttp_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/dibshttp"
)

// TestCacheControlOfPages caps Cache-Control with a MaxStale of a minute and of zero.
func TestCacheControlOfPages(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	sender := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Cache-Control"] = r.URL.Query()["send"]
		w.WriteHeader(http.StatusOK)
	})
	minute := site(t, reg, dibshttp.Config{Namespace: "slug", MaxStale: time.Minute}, sender)
	none := site(t, reg, dibshttp.Config{Namespace: "slug"}, sender)
	for _, test := range []struct{ sent, minute, none string }{
		{"", "no-cache", "no-cache"},
		{"no-store", "no-store", "no-store"},
		{"No-Store, max-age=500", "no-store, max-age=500", "no-store, max-age=500"},
		{"no-cache", "no-cache", "no-cache"},
		{"private", "private, no-cache", "private, no-cache"},
		{"public", "public, no-cache", "public, no-cache"},
		{"max-age=10", "max-age=10, must-revalidate", "no-cache"},
		{"max-age=31536000, immutable", "max-age=60, must-revalidate", "no-cache"},
		{"MAX-AGE=61", "max-age=60, must-revalidate", "no-cache"},
		{"public,max-age=3600,s-maxage=86400", "public, max-age=60, s-maxage=60, must-revalidate", "public, no-cache"},
		{"s-maxage=3600", "s-maxage=60, max-age=0, must-revalidate", "no-cache"},
		{"private, max-age=3600", "private, max-age=60, must-revalidate", "private, no-cache"},
		{"no-cache, max-age=3600", "no-cache, max-age=60, must-revalidate", "no-cache"},
		{"max-age=99, must-revalidate", "max-age=60, must-revalidate", "must-revalidate, no-cache"},
		{"max-age=5, stale-while-revalidate=600, stale-if-error=86400", "max-age=5, must-revalidate", "no-cache"},
		{"max-age=5|max-age=600", "max-age=5, max-age=60, must-revalidate", "no-cache"},
		{`max-age="600"`, "max-age=60, must-revalidate", "no-cache"},
		{"max-age=999999999999999999999", "max-age=60, must-revalidate", "no-cache"},
		{"max-age=-5", "max-age=0, must-revalidate", "no-cache"},
		{"max-age=soon", "max-age=0, must-revalidate", "no-cache"},
		{"max-age", "max-age=0, must-revalidate", "no-cache"},
		{`private="Set-Cookie, max-age=9", max-age=600`, `private="Set-Cookie, max-age=9", max-age=60, must-revalidate`, `private="Set-Cookie, max-age=9", no-cache`},
		{`no-cache="a\", b", max-age=600`, `no-cache="a\", b", max-age=60, must-revalidate`, `no-cache="a\", b", no-cache`},
		{`no-store="x", max-age=600`, `no-store="x", max-age=60, must-revalidate`, `no-store="x", no-cache`},
		{`private="x, max-age=600`, "no-store", "no-store"},
		{" , ,", "no-cache", "no-cache"},
	} {
		for url, want := range map[string]string{minute: test.minute, none: test.none} {
			query := "?"
			for line := range strings.SplitSeq(test.sent, "|") {
				query += "&send=" + queryEscape(line)
			}
			if got := fetch(t, http.MethodGet, url+"/the-smiths"+query, nil).header["Cache-Control"]; len(got) != 1 || got[0] != want {
				t.Errorf("%q becomes %q, want %q", test.sent, got, want)
			}
		}
	}
}

func queryEscape(text string) string {
	return strings.NewReplacer(" ", "%20", `"`, "%22", ";", "%3B", `\`, "%5C", "=", "%3D").Replace(text)
}

// must-revalidate alone would permit shared caches to keep responses to requests with
// credentials.
func TestResponsesToCredentialsStayPrivate(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	sender := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", r.URL.Query().Get("send"))
	})
	url := site(t, reg, dibshttp.Config{Namespace: "slug", MaxStale: time.Minute}, sender)
	for sent, want := range map[string]string{
		"max-age=5":                  "max-age=5, private, must-revalidate",
		"max-age=5,public":           "max-age=5, public, must-revalidate",
		"s-maxage=5":                 "s-maxage=5, max-age=0, must-revalidate",
		"max-age=5, must-revalidate": "max-age=5, must-revalidate",
		"private, max-age=5":         "private, max-age=5, must-revalidate",
	} {
		got := fetch(t, http.MethodGet, url+"/the-smiths?send="+queryEscape(sent), http.Header{"Authorization": {"Basic x"}}).header.Get("Cache-Control")
		if got != want {
			t.Errorf("%q becomes %q, want %q", sent, got, want)
		}
	}
}

// Other headers do not let caches keep a page for longer either.
func TestOtherCacheHeaders(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	soon, late := time.Now().Add(30*time.Second).UTC().Format(http.TimeFormat), time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for _, test := range []struct {
		header http.Header
		least  int // of max-age
		most   int
	}{
		{http.Header{"Expires": {soon}}, 15, 30},
		{http.Header{"Expires": {late}}, 60, 60},
		{http.Header{"Expires": {"0"}}, 0, 0},
		{http.Header{"Expires": {late}, "Cache-Control": {"max-age=5"}}, 5, 5},
		{http.Header{"Surrogate-Control": {"max-age=86400"}, "Cache-Control": {"max-age=5"}}, 5, 5},
		{http.Header{"Cdn-Cache-Control": {"max-age=86400"}, "X-Accel-Expires": {"86400"}, "Cloudflare-Cdn-Cache-Control": {"max-age=1"}, "Cache-Control": {"no-store, max-age=7"}}, 7, 7},
	} {
		url := site(t, reg, dibshttp.Config{Namespace: "slug", MaxStale: time.Minute}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			maps.Copy(w.Header(), test.header)
		}))
		got := fetch(t, http.MethodGet, url+"/the-smiths", nil).header
		for _, name := range []string{"Expires", "Surrogate-Control", "Cdn-Cache-Control", "Cloudflare-Cdn-Cache-Control", "X-Accel-Expires"} {
			if got.Get(name) != "" {
				t.Errorf("%v: the response has %s", test.header, name)
			}
		}
		m := regexp.MustCompile(`max-age=(\d+)`).FindStringSubmatch(got.Get("Cache-Control"))
		if m == nil {
			t.Errorf("%v: no max-age in %q", test.header, got.Get("Cache-Control"))
			continue
		}
		if age, _ := strconv.Atoi(m[1]); age < test.least || age > test.most {
			t.Errorf("%v: max-age is %d, want %d to %d", test.header, age, test.least, test.most)
		}
	}
}

var (
	quotedText = regexp.MustCompile(`"([^"\\\\]|\\\\.)*"`)
	agesOf     = regexp.MustCompile(`(?:^|,)\s*(?:max-age|s-maxage)\s*=\s*([^,]*)`)
)

// FuzzCacheControl checks that no Cache-Control lets caches keep a page for more than a minute.
func FuzzCacheControl(f *testing.F) {
	for _, sent := range []string{"max-age=600, immutable", `private="a,b", s-maxage=9`, "stale-if-error=5", `"max-age=5`, "MAX-AGE = 70", "no-store"} {
		f.Add(sent)
	}
	reg, _ := newRegistry(f)
	names, err := dibshttp.New(reg, dibshttp.Config{Namespace: "slug", MaxStale: time.Minute})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		response := httptest.NewRecorder()
		names.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Cache-Control", sent) })).
			ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/the-smiths", http.NoBody))
		got := strings.ToLower(quotedText.ReplaceAllString(response.Header().Get("Cache-Control"), "Q"))
		if strings.Contains(got, "no-store") {
			return
		}
		bounded := strings.Contains(got, "no-cache")
		for _, m := range agesOf.FindAllStringSubmatch(got, -1) {
			age, err := strconv.Atoi(m[1])
			bounded = true
			if err != nil || age < 0 || age > 60 {
				t.Errorf("%q becomes %q", sent, got)
			}
		}
		if !bounded || regexp.MustCompile(`(^|,)\s*(immutable|stale-while-revalidate|stale-if-error)\s*(,|=|$)`).MatchString(got) {
			t.Errorf("%q becomes %q", sent, got)
		}
	})
}

// Headers are capped in every way to send a response.
func TestEveryWayToRespond(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	file := filepath.Join(t.TempDir(), "page")
	if err := os.WriteFile(file, []byte("page"), 0o600); err != nil {
		t.Fatal(err)
	}
	for way, respond := range map[string]func(w http.ResponseWriter, r *http.Request){
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"status":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) },
		"write":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") },
		"copy":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, strings.NewReader("page")) },
		"file":    func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) },
		"flush":   func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() },
		"control": func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() },
		"error":   func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) },
		"early hints": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
		},
		"deadline": func(w http.ResponseWriter, _ *http.Request) {
			if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Error(err)
			}
		},
	} {
		url := site(t, reg, dibshttp.Config{Namespace: "slug", MaxStale: time.Minute}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=86400")
			respond(w, r)
			w.Header().Set("Cache-Control", "max-age=86400") // too late, or capped
		}))
		if got := fetch(t, http.MethodGet, url+"/the-smiths", nil).header.Get("Cache-Control"); got != "max-age=60, must-revalidate" {
			t.Errorf("%s: Cache-Control is %q", way, got)
		}
	}
}

// Early hints reach the client before the response.
func TestEarlyHints(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	url := site(t, reg, dibshttp.Config{Namespace: "slug"}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Cache-Control", "max-age=5")
	}))
	hinted := ""
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(_ int, header textproto.MIMEHeader) error {
		hinted = header.Get("Link")
		return nil
	}})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/the-smiths", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if got := res.Header.Get("Cache-Control"); hinted == "" || got != "no-cache" {
		t.Errorf("the hint is %q, Cache-Control is %q", hinted, got)
	}
}

// An application can hijack the connection, for example for WebSockets.
func TestHijack(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	url := site(t, reg, dibshttp.Config{Namespace: "slug"}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhello\n")
	}))
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprintf(conn, "GET /the-smiths HTTP/1.1\r\nHost: x\r\n\r\n")
	lines := bufio.NewReader(conn)
	text, err := io.ReadAll(lines)
	if err != nil || !strings.HasSuffix(string(text), "\r\n\r\nhello\n") {
		t.Errorf("the response is %q, %v", text, err)
	}
}
