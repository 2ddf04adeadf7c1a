package dibshttp_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibshttp"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/memstore"
)

// visits are requests and their responses, with the prefix /w/.
var visits = []struct {
	namespace    string
	method, path string
	status       int
	location     string
	body         string // of 200
}{
	{"slug", "GET", "/w/the-smiths", 200, "", "true slug the-smiths the-smiths wedding/42"},
	{"slug", "POST", "/w/the-smiths/guests?a=b", 200, "", "true slug the-smiths the-smiths wedding/42"},
	{"slug", "GET", "/w/the%2Dsmiths", 200, "", "true slug the-smiths the-smiths wedding/42"},
	{"acme.slug", "GET", "/w/alice-bob", 200, "", "true acme.slug alice-bob alice-bob wedding/7"},

	{"slug", "GET", "/w/alice-bob", 301, "/w/the-smiths", ""},
	{"slug", "HEAD", "/w/alice-bob", 301, "/w/the-smiths", ""},
	{"slug", "POST", "/w/alice-bob", 308, "/w/the-smiths", ""},
	{"slug", "DELETE", "/w/alice-bob", 308, "/w/the-smiths", ""},
	{"slug", "GET", "/w/alice-bob/", 301, "/w/the-smiths/", ""},
	{"slug", "GET", "/w/alice-bob/w/alice-bob//x%2Fy/..;/?q=/w/alice-bob&r=%2f+&r", 301, "/w/the-smiths/w/alice-bob//x%2Fy/..;/?q=/w/alice-bob&r=%2f+&r", ""},
	{"slug", "GET", "/w/alice-bob?", 301, "/w/the-smiths?", ""},
	{"slug", "GET", "/w/ALICE%20%26%20bob/x", 301, "/w/the-smiths/x", ""},
	{"found", "GET", "/w/x?a", 302, "/w/y?a", ""},
	{"found", "PUT", "/w/x", 307, "/w/y", ""},
	{"temp", "GET", "/w/x", 307, "/w/y", ""},
	{"temp", "PUT", "/w/x", 307, "/w/y", ""},
	{"exact", "GET", "/w/a%2Fb/c", 301, "/w/%2F%C3%A9vil.com/c", ""},

	{"slug", "GET", "/w/The%20Smiths/photos?p=2", 301, "/w/the-smiths/photos?p=2", ""},
	{"slug", "POST", "/w/The%20Smiths", 308, "/w/the-smiths", ""},

	{"slug", "GET", "/w/nobody", 404, "", ""},
	{"slug", "GET", "/w/held", 404, "", ""},
	{"slug", "GET", "/w/hidden", 404, "", ""},
	{"slug", "GET", "/w/%ff", 404, "", ""},
	{"slug", "GET", "/w/%00", 404, "", ""},
	{"slug", "GET", "/w/" + strings.Repeat("a", 2000), 404, "", ""},
	{"exact", "GET", "/w/dots", 404, "", ""}, // its current name, of dots, has no URL
	{"kept", "GET", "/w/closed", 410, "", ""},
	{"kept", "GET", "/w/archived/x", 410, "", ""},

	{"slug", "GET", "/", 200, "", "false    /"},
	{"slug", "GET", "/w/", 200, "", "false    /"},
	{"slug", "GET", "/login", 200, "", "false    /"},
	{"slug", "GET", "//evil.com/w/alice-bob", 200, "", "false    /"},
}

// Responses are the same with an embedded registry and with one on a server.
func TestVisits(t *testing.T) {
	t.Parallel()
	embedded, store := newRegistry(t)
	for kind, reg := range map[string]*dibs.Registry{"embedded": embedded, "remote": remote(t, embedded, store)} {
		urls := make(map[string]string)
		for _, v := range visits {
			if urls[v.namespace] == "" {
				urls[v.namespace] = site(t, reg, dibshttp.Config{Namespace: v.namespace, Prefix: "/w/", MaxStale: time.Minute}, page)
			}
			got := fetch(t, v.method, urls[v.namespace]+v.path, nil)
			if got.status != v.status || got.header.Get("Location") != v.location {
				t.Errorf("%s: %s %s of %s is %d to %q, want %d to %q", kind, v.method, v.path, v.namespace, got.status, got.header.Get("Location"), v.status, v.location)
			}
			if v.body != "" && got.body != v.body {
				t.Errorf("%s: %s %s shows %q, want %q", kind, v.method, v.path, got.body, v.body)
			}
			want := "max-age=60, must-revalidate"
			if v.status == http.StatusOK {
				want = "no-cache" // the page sets none
			}
			if strings.HasPrefix(v.body, "false") {
				want = "" // the request has no name
			}
			if cache := got.header.Get("Cache-Control"); cache != want {
				t.Errorf("%s: %s %s has Cache-Control %q, want %q", kind, v.method, v.path, cache, want)
			}
		}
	}
}

func TestNoCachingByDefault(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	for _, maxStale := range []time.Duration{0, 999 * time.Millisecond} {
		url := site(t, reg, dibshttp.Config{Namespace: "slug", MaxStale: maxStale}, page)
		for path, want := range map[string]string{"/the-smiths": "no-cache", "/alice-bob": "no-store", "/nobody": "no-store"} {
			if got := fetch(t, http.MethodGet, url+path, nil).header.Get("Cache-Control"); got != want {
				t.Errorf("%s has Cache-Control %q, want %q", path, got, want)
			}
		}
	}
}

func TestAnySpelling(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	url := site(t, reg, dibshttp.Config{Namespace: "slug", AnySpelling: true}, page)
	if got := fetch(t, http.MethodGet, url+"/The%20Smiths", nil); got.body != "true slug The Smiths the-smiths wedding/42" {
		t.Errorf("the response is %d %q", got.status, got.body)
	}
	if got := fetch(t, http.MethodGet, url+"/Alice-Bob", nil); got.header.Get("Location") != "/the-smiths" {
		t.Errorf("an old name is %d", got.status)
	}
}

// The first label of the host is the tenant, and the first segment the name.
func TestNamespaceByHost(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	url := site(t, reg, dibshttp.Config{NamespaceOf: func(r *http.Request) string {
		tenant, _, _ := strings.Cut(r.Host, ".")
		return tenant + ".slug"
	}}, page)
	for host, want := range map[string]int{"acme.example.com": 200, "globex.example.com": 404, "NOT_WELL_FORMED!.example.com": 404} {
		if got := fetch(t, http.MethodGet, url+"/alice-bob", http.Header{"Host": {host}}); got.status != want {
			t.Errorf("%s is %d, want %d", host, got.status, want)
		}
	}
}

func TestValueAndLocation(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	url := site(t, reg, dibshttp.Config{
		Namespace: "slug",
		Value:     func(r *http.Request) (string, bool) { return strings.CutSuffix(r.Host, ".example.com") },
		Location: func(r *http.Request, canonical string) string {
			return "https://" + canonical + ".example.com" + r.URL.RequestURI()
		},
	}, page)
	if got := fetch(t, http.MethodGet, url+"/x?y", http.Header{"Host": {"alice-bob.example.com"}}); got.header.Get("Location") != "https://the-smiths.example.com/x?y" {
		t.Errorf("the response is %d to %q", got.status, got.header.Get("Location"))
	}
	if got := fetch(t, http.MethodGet, url+"/x", http.Header{"Host": {"example.org"}}); !strings.HasPrefix(got.body, "false") {
		t.Errorf("another host is %d %q", got.status, got.body)
	}
}

func TestOwnHandlers(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	send := func(status int, text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "public, max-age=86400")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text))
		})
	}
	cfg := dibshttp.Config{
		Namespace: "kept", MaxStale: time.Minute,
		NotFound: send(404, "not here"), Gone: send(410, "closed"), Unavailable: send(503, "later"),
	}
	url := site(t, reg, cfg, page)
	for path, want := range map[string]string{"/nobody": "not here", "/closed": "closed"} {
		got := fetch(t, http.MethodGet, url+path, nil)
		if got.body != want || got.header.Get("Cache-Control") != "public, max-age=60, must-revalidate" {
			t.Errorf("%s is %q, with Cache-Control %s", path, got.body, got.header.Get("Cache-Control"))
		}
	}
	url = site(t, failing{dibs.ErrUnavailable}, cfg, page)
	if got := fetch(t, http.MethodGet, url+"/x", nil); got.body != "later" || got.header.Get("Retry-After") == "" {
		t.Errorf("the response is %d %q %v", got.status, got.body, got.header)
	}
}

// failing is a resolver that always fails.
type failing struct{ err error }

func (f failing) Resolve(context.Context, string, string) (dibs.Resolution, error) {
	return dibs.Resolution{}, f.err
}

func TestUnavailableRegistry(t *testing.T) {
	t.Parallel()
	closed, err := core.Open(memstore.New(memstore.Config{}), dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	misnamed, store := newRegistry(t)
	for what, reg := range map[string]dibshttp.Resolver{
		"closed":       closed,
		"unavailable":  failing{dibs.ErrUnavailable},
		"not allowed":  failing{errors.New("403: key dibs_secret")},
		"no namespace": remote(t, misnamed, store),
	} {
		var log bytes.Buffer
		url := site(t, reg, dibshttp.Config{Namespace: map[bool]string{true: "Not One", false: "slug"}[what == "no namespace"], Logger: slog.New(slog.NewTextHandler(&log, nil))}, page)
		got := fetch(t, http.MethodGet, url+"/x", nil)
		if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "1" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", what, got.status, got.header)
		}
		if strings.Contains(got.body, "dibs") || !strings.Contains(log.String(), "cannot resolve a name") {
			t.Errorf("%s: the body is %q, the log %q", what, got.body, log.String())
		}
	}
}

// The disconnect of a client is not logged as an error.
func TestClientDisconnects(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	names, err := dibshttp.New(failing{context.Canceled}, dibshttp.Config{Namespace: "slug", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := httptest.NewRecorder()
	names.Wrap(page).ServeHTTP(got, httptest.NewRequestWithContext(ctx, http.MethodGet, "/x", http.NoBody))
	if got.Code != http.StatusServiceUnavailable || log.Len() > 0 {
		t.Errorf("the status is %d, the log %q", got.Code, log.String())
	}
}

func TestInvalidConfig(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	value := func(*http.Request) (string, bool) { return "", false }
	location := func(*http.Request, string) string { return "" }
	for want, cfg := range map[string]dibshttp.Config{
		"set one of Namespace":  {},
		"and NamespaceOf":       {Namespace: "slug", NamespaceOf: func(*http.Request) string { return "slug" }},
		"not well-formed":       {Namespace: "Not One"},
		"do not belong in URLs": {Namespace: "secret"},
		"begin and end":         {Namespace: "slug", Prefix: "w"},
		"set both of Value":     {Namespace: "slug", Value: value},
		"Location, or none":     {Namespace: "slug", Location: location},
		"both set: set one":     {Namespace: "slug", Value: value, Location: location, Prefix: "/w/"},
		"must not be negative":  {Namespace: "slug", MaxStale: -1},
	} {
		if _, err := dibshttp.New(reg, cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

// The table in docs/redirects.md shows the real Cache-Control of pages.
func TestDocsTableOfCacheControl(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/redirects.md")
	if err != nil {
		t.Fatal(err)
	}
	reg, _ := newRegistry(t)
	rows := regexp.MustCompile("(?m)^\\| your page[^|`]*(?:`(.*?)` )?\\| `(.*?)` \\| `(.*?)` \\|$").FindAllStringSubmatch(string(text), -1)
	if len(rows) != 4 {
		t.Fatalf("docs/redirects.md has %d rows", len(rows))
	}
	for _, row := range rows {
		for maxStale, want := range map[time.Duration]string{time.Minute: row[2], 0: row[3]} {
			url := site(t, reg, dibshttp.Config{Namespace: "slug", MaxStale: maxStale}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Cache-Control", row[1])
			}))
			if got := fetch(t, http.MethodGet, url+"/the-smiths", nil).header.Get("Cache-Control"); got != want {
				t.Errorf("%q becomes %q with %s, docs/redirects.md has %q", row[1], got, maxStale, want)
			}
		}
	}
}
