package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/access"
)

const (
	ourSite   = "https://app.example.com"
	theirSite = "https://evil.example.com"
)

// Pages of a configured origin may call the API; pages of others may not.
func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	named := newRig(t, inMemory, nil, func(c *Config) { c.Origins = []string{ourSite, "http://localhost:3000"} })
	closed := newRig(t, inMemory, nil)
	for _, c := range []struct {
		what         string
		r            *rig
		method, path string
		origin       string
		asks         string // the method that a preflight is about
		status       int
		allowed      string
	}{
		{"a preflight", named, "OPTIONS", "/v1/reservations", ourSite, "POST", 204, ourSite},
		{"a preflight of another named site", named, "OPTIONS", "/v1/names/slug/a", "http://localhost:3000", "GET", 204, "http://localhost:3000"},
		{"a preflight of a change to a webhook", named, "OPTIONS", "/v1/webhooks/wh_1", ourSite, "PATCH", 204, ourSite},
		{"a preflight of another site", named, "OPTIONS", "/v1/reservations", theirSite, "POST", 405, ""},
		{"a preflight of the same host, in the open", named, "OPTIONS", "/v1/reservations", "http://app.example.com", "POST", 405, ""},
		{"a preflight of another port", named, "OPTIONS", "/v1/reservations", ourSite + ":8443", "POST", 405, ""},
		{"a preflight from nowhere", named, "OPTIONS", "/v1/reservations", "null", "POST", 405, ""},
		{"a preflight where none is named", closed, "OPTIONS", "/v1/reservations", ourSite, "POST", 405, ""},
		{"OPTIONS that is no preflight", named, "OPTIONS", "/v1/reservations", ourSite, "", 405, ourSite},
		{"a change", named, "POST", "/v1/reservations", ourSite, "", 201, ourSite},
		{"a change by another site", named, "POST", "/v1/reservations", theirSite, "", 403, ""},
		{"a change from nowhere", named, "POST", "/v1/reservations", "null", "", 403, ""},
		{"a change where none is named", closed, "POST", "/v1/reservations", ourSite, "", 403, ""},
		{"a look", named, "GET", "/v1/names", ourSite, "", 200, ourSite},
		{"a look by another site, which the browser keeps from it", named, "GET", "/v1/names", theirSite, "", 200, ""},
		{"a look where none is named", closed, "GET", "/v1/names", ourSite, "", 200, ""},
		{"a problem", named, "GET", "/v1/names/slug/none", ourSite, "", 404, ourSite},
		{"a path that is not there", named, "GET", "/nowhere", ourSite, "", 404, ourSite},
		{"no browser", named, "GET", "/v1/names", "", "", 200, ""},
	} {
		header := make(http.Header)
		if c.origin != "" {
			header.Set("Origin", c.origin)
			header.Set("Sec-Fetch-Site", "cross-site")
		}
		if c.asks != "" {
			header.Set("Access-Control-Request-Method", c.asks)
			header.Set("Access-Control-Request-Headers", "authorization,content-type,idempotency-key")
		}
		body := ""
		if c.method == http.MethodPost {
			body = `{"namespace": "slug", "value": "a-` + strings.ReplaceAll(c.what, " ", "-") + `"}`
		}
		res, text := c.r.send(c.method, c.path, header, body)
		if res.status != c.status || res.header.Get("Access-Control-Allow-Origin") != c.allowed {
			t.Errorf("%s: %d, allowed %q: %s", c.what, res.status, res.header.Get("Access-Control-Allow-Origin"), text)
		}
		if varies := slices.Contains(res.header.Values("Vary"), "Origin"); varies != (c.r == named) {
			t.Errorf("%s: Vary is %q", c.what, res.header.Values("Vary"))
		}
		if res.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: credentials are allowed", c.what)
		}
		if exposed := res.header.Get("Access-Control-Expose-Headers"); (exposed != "") != (c.allowed != "" && c.status != 204) {
			t.Errorf("%s: exposed are %q", c.what, exposed)
		}
		if c.status == http.StatusNoContent {
			for name, value := range map[string]string{"Access-Control-Allow-Methods": c.asks, "Access-Control-Allow-Headers": "Idempotency-Key"} {
				if !strings.Contains(res.header.Get(name), value) {
					t.Errorf("%s: %s is %q", c.what, name, res.header.Get(name))
				}
			}
		}
	}
	if got := named.metric(`dibs_http_denied_total{reason="cross_origin"}`); got != 2 {
		t.Errorf("%v were counted", got)
	}
}

// An origin must be written as browsers send it.
func TestCheckOrigin(t *testing.T) {
	t.Parallel()
	for origin, good := range map[string]bool{
		"https://app.example.com": true, "http://localhost:3000": true, "https://app.example.com:8443": true, "http://[::1]:3000": true,
		"*": false, "null": false, "": false, "https://": false, "https://*.example.com": false, "app.example.com": false,
		"https://app.example.com/": false, "https://app.example.com/a": false, "https://app.example.com?": false, "https://app.example.com#": false,
		"https://App.example.com": false, "HTTPS://app.example.com": false, "https://app.example.com:443": false, "http://app.example.com:80": false,
		"https://u@app.example.com": false, "https://app.example.com:": false, "file:///x": false, "https://app.example.com,https://b.example.com": false,
	} {
		if err := access.CheckOrigin(origin); (err == nil) != good {
			t.Errorf("%q: %v", origin, err)
		}
	}
}

// Pages of a configured origin may use every method of the API.
func TestAllowedMethods(t *testing.T) {
	t.Parallel()
	allowed := strings.Split(allowedMethods, ", ")
	for path, item := range newRig(t, inMemory, nil).server.api.OpenAPI().Paths {
		for method, there := range map[string]bool{
			http.MethodGet: item.Get != nil, http.MethodHead: item.Head != nil, http.MethodPost: item.Post != nil,
			http.MethodPut: item.Put != nil, http.MethodPatch: item.Patch != nil, http.MethodDelete: item.Delete != nil,
		} {
			if there && !slices.Contains(allowed, method) {
				t.Errorf("%s %s is not allowed", method, path)
			}
		}
	}
}
