package redirect_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/redirect"
)

func TestFindAndReplace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		prefix, path, value string // found
		with, want          string
	}{
		{"", "/old", "old", "new", "/new"},
		{"/", "/old/", "old", "new", "/new/"},
		{"/w/", "/w/old", "old", "new", "/w/new"},
		{"/w/", "/w/old/photos/1", "old", "new", "/w/new/photos/1"},
		{"/w/", "/w/old/old", "old", "new", "/w/new/old"},
		{"/w/", "/w/w/w", "w", "new", "/w/new/w"},
		{"/old/", "/old/old/old", "old", "new", "/old/new/old"},
		{"/*/w/", "/acme/w/old/x", "old", "new", "/acme/w/new/x"},
		{"/*/w/", "/a%2Fb/w/old", "old", "new", "/a%2Fb/w/new"},
		{"/w/", "/w/o%6Cd//x/%2e%2E", "old", "new", "/w/new//x/%2e%2E"},
		{"/w/", "/w/a%2Fb/c", "a/b", "x/y", "/w/x%2Fy/c"},
		{"/w/", "/w/M%C3%BCnchen", "München", "zürich", "/w/z%C3%BCrich"},
		{"/ä/", "/%C3%A4/old", "old", "new", "/%C3%A4/new"},
		{"/w/", "/w/a", "a", "b\r\nSet-Cookie: c", "/w/b%0D%0ASet-Cookie:%20c"},
		{"/", "/a", "a", "/evil.com", "/%2Fevil.com"},
		{"/", "/a", "a", `\evil.com`, "/%5Cevil.com"},
		{"/", "/a", "a", "?q#f", "/%3Fq%23f"},
		{"/w/", "/w/%20", " ", "%", "/w/%25"},
	} {
		prefix, err := redirect.ParsePrefix(test.prefix)
		if err != nil {
			t.Error(err)
			continue
		}
		found, ok := prefix.Find(test.path)
		if !ok || found.Value != test.value {
			t.Errorf("behind %q in %q: found %q, %v; want %q", test.prefix, test.path, found.Value, ok, test.value)
			continue
		}
		if got, ok := found.Replace(test.with); !ok || got != test.want {
			t.Errorf("%q with %q is %q, %v; want %q", test.path, test.with, got, ok, test.want)
		}
	}
}

func TestNoName(t *testing.T) {
	t.Parallel()
	for _, test := range [][2]string{
		{"/", ""},
		{"/", "/"},
		{"/", "*"},
		{"/", "//evil.com/old"},
		{"/w/", "/w"},
		{"/w/", "/w/"},
		{"/w/", "/w//old"},
		{"/w/", "//w/old"},
		{"/w/", "/W/old"},
		{"/w/", "/www/old"},
		{"/w/", "w/old"},
		{"/w/", "/w/%zz"},
		{"/*/w/", "//w/old"},
		{"/*/w/", "/w/old"},
	} {
		prefix, err := redirect.ParsePrefix(test[0])
		if err != nil {
			t.Error(err)
		}
		if found, ok := prefix.Find(test[1]); ok {
			t.Errorf("behind %q in %q: found %q, want none", test[0], test[1], found.Value)
		}
	}
	for _, prefix := range []string{"w", "/w", "w/", "//", "//w/", "/w//x/", "https://example.com/"} {
		if _, err := redirect.ParsePrefix(prefix); err == nil {
			t.Errorf("the prefix %q is accepted", prefix)
		}
	}
	found, _ := redirect.Prefix{}.Find("/a")
	for _, name := range []string{"", ".", ".."} {
		if path, ok := found.Replace(name); ok {
			t.Errorf("%q has the path %q", name, path)
		}
	}
}

func TestHasDots(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/w/a/../b": true, "/w/./a": true, "/w/%2e%2E/b": true, "/w/.%2e": true, "/..": true,
		"/w/a..b/...": false, "/w/.hidden": false, "/w/%2e%2e%2e": false, "/": false, "/%zz": false,
	} {
		if got := redirect.HasDots(path); got != want {
			t.Errorf("HasDots(%q) is %v", path, got)
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for status, kept := range map[int]int{301: 308, 302: 307, 307: 307, 308: 308} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			if got := redirect.Status(status, method); got != status {
				t.Errorf("%d for %s is %d", status, method, got)
			}
		}
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, "BREW"} {
			if got := redirect.Status(status, method); got != kept {
				t.Errorf("%d for %s is %d, want %d", status, method, got, kept)
			}
		}
	}
}

// FuzzReplace checks that a redirect stays on its host, has the new name in place of the old one,
// and leaves the rest of the path unchanged.
func FuzzReplace(f *testing.F) {
	f.Add("/*/w/", "//evil.com/w/a/b?c", "x/y")
	f.Add("/", `/\evil.com`, "..")
	f.Add("/w/", "/w/%5c/a", "\r\n")
	f.Fuzz(func(t *testing.T, prefix, uri, name string) {
		parsed, err := redirect.ParsePrefix(prefix)
		u, bad := url.ParseRequestURI(uri)
		if err != nil || bad != nil || u.Host != "" {
			return
		}
		found, ok := parsed.Find(u.EscapedPath())
		if !ok {
			return
		}
		path, ok := found.Replace(name)
		if !ok {
			return
		}
		to, err := url.Parse(path)
		if err != nil || to.Host != "" || to.Scheme != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n?#") {
			t.Fatalf("%q leads to %q, %v", uri, path, err)
		}
		again, ok := parsed.Find(to.EscapedPath())
		if !ok || again.Value != name {
			t.Fatalf("%q in %q is %q there", name, path, again.Value)
		}
		if back, ok := again.Replace(found.Value); ok && back != normal(u.EscapedPath(), found.Value, parsed) {
			t.Fatalf("%q comes back as %q", uri, back)
		}
	})
}

// normal returns a path with its name encoded as Replace does.
func normal(path, value string, prefix redirect.Prefix) string {
	found, _ := prefix.Find(path)
	same, _ := found.Replace(value)
	return same
}
