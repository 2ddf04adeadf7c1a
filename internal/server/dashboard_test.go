package server

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
)

// dashboardFiles are a small dashboard.
func dashboardFiles(tb testing.TB) fstest.MapFS {
	tb.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.WriteString(w, "let app = 1"); err != nil || w.Close() != nil {
		tb.Fatal(err)
	}
	return fstest.MapFS{
		"index.html":                 {Data: []byte(`<!doctype html><script src="/assets/app-ABCDEFGH.js"></script>`)},
		"assets/app-ABCDEFGH.js":     {Data: []byte("let app = 1")},
		"assets/app-ABCDEFGH.js.gz":  {Data: packed.Bytes()},
		"assets/icon-ABCDEFGH.svg":   {Data: []byte("<svg/>")},
		"assets/style-ABCDEFGH.css":  {Data: []byte("a{}")},
		"assets/font-ABCDEFGH.woff2": {Data: []byte("font")},
	}
}

// answered is the head of a response.
type answered struct {
	StatusCode int
	Header     http.Header
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil, func(c *Config) { c.Dashboard = dashboardFiles(t) })
	get := func(path string, headers ...string) (answered, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.http.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept-Encoding", "identity") // the client would decompress by itself
		for i := 0; i < len(headers); i += 2 {
			request.Header.Set(headers[i], headers[i+1])
		}
		response, err := r.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answered{response.StatusCode, response.Header}, string(body)
	}
	const script = "/assets/app-ABCDEFGH.js"

	page, text := get("/", "Accept", "text/html,*/*;q=0.8")
	if page.StatusCode != http.StatusOK || !strings.Contains(text, script) || page.Header.Get("Cache-Control") != "no-cache" || page.Header.Get("ETag") == "" {
		t.Errorf("the page is %d %v: %s", page.StatusCode, page.Header, text)
	}
	policy := page.Header.Get("Content-Security-Policy")
	if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "script-src 'self'") {
		t.Errorf("the policy is %s", policy)
	}
	if again, text := get("/", "Accept", "text/html", "If-None-Match", page.Header.Get("ETag")); again.StatusCode != http.StatusNotModified || text != "" {
		t.Errorf("the same page again is %d: %s", again.StatusCode, text)
	}
	if plain, text := get("/", "Accept", "application/json"); plain.StatusCode != http.StatusOK || strings.Contains(text, script) {
		t.Errorf("without HTML the page is %d: %s", plain.StatusCode, text)
	}

	for path, want := range map[string]string{
		script: "text/javascript", "/assets/icon-ABCDEFGH.svg": "image/svg+xml", "/assets/style-ABCDEFGH.css": "text/css", "/assets/font-ABCDEFGH.woff2": "font/woff2",
	} {
		file, text := get(path)
		if file.StatusCode != http.StatusOK || !strings.HasPrefix(file.Header.Get("Content-Type"), want) || !strings.Contains(file.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s is %d %v: %s", path, file.StatusCode, file.Header, text)
		}
	}
	packed, text := get(script, "Accept-Encoding", "br, gzip;q=0.5")
	if packed.Header.Get("Content-Encoding") != "gzip" || packed.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("with gzip the script has the headers %v", packed.Header)
	}
	reader, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if unpacked, err := io.ReadAll(reader); err != nil || string(unpacked) != "let app = 1" {
		t.Errorf("the script is %q, %v", unpacked, err)
	}
	if plain, _ := get(script, "Accept-Encoding", "gzip;q=0"); plain.Header.Get("Content-Encoding") != "" {
		t.Error("a client that refuses gzip gets it")
	}
	for _, path := range []string{"/assets/app-ABCDEFGH.js.gz", "/assets/none.js", "/assets/", "/index.html", "/nope"} {
		if missing, text := get(path); missing.StatusCode != http.StatusNotFound || missing.Header.Get("Content-Type") != problemType {
			t.Errorf("%s is %d: %s", path, missing.StatusCode, text)
		}
	}
}

func TestDashboardWithoutAPage(t *testing.T) {
	t.Parallel()
	for what, files := range map[string]fstest.MapFS{
		"nothing": {}, "no index": {"assets/a.js": {}}, "an unknown type": {"index.html": {}, "assets/a.unheard": {}},
	} {
		if _, err := loadFiles(files); err == nil {
			t.Errorf("%s is a dashboard", what)
		}
	}
}
