package server_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/memstore"
)

// A server that requires no key on localhost refuses requests with another Host, as from a page
// that rebinds its name, and requests through a proxy.
func TestLocalOnly(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	reg, err := core.Open(store, dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	handler := server.New(server.Config{Registry: reg, Store: store, LocalOnly: true})
	for _, c := range []struct {
		path, host, header, value string
		want                      int
	}{
		{"/v1/names", "127.0.0.1:8080", "Via", "1.1 proxy", http.StatusForbidden},
		{"/v1/names", "127.0.0.1:8080", "X-Forwarded-Proto", "https", http.StatusForbidden},
		{"/v1/names", "127.0.0.1:8080", "X-Forwarded-Anything", "x", http.StatusForbidden},
		{"/v1/names", "127.0.0.1:8080", "X-Real-IP", "192.0.2.1", http.StatusForbidden},
		{"/v1/names", "127.0.0.1:8080", "CF-Connecting-IP", "192.0.2.1", http.StatusForbidden},
		{"/v1/names", "127.0.0.1:8080", "CF-Ray", "x", http.StatusForbidden},
		{"/v1/names", "127.0.0.1:8080", "True-Client-IP", "192.0.2.1", http.StatusForbidden},
		{"/v1/names", "127.0.0.1:8080", "x_forwarded_for", "192.0.2.1", http.StatusForbidden},
		{"/v1/names", "127.0.0.1:8080", "X-Original-Forwarded-For", "192.0.2.1", http.StatusForbidden},
		{"/v1/names", "127.0.0.1:8080", "X_REAL_IP", "192.0.2.1", http.StatusForbidden},
		{"/v1/names", "127.0.0.1:8080", "WL-Proxy-Client-IP", "192.0.2.1", http.StatusForbidden},
		{"/v1/names", "127.0.0.1:80.evil.com", "", "", http.StatusForbidden},
		{"/v1/names", "localhost:evil", "", "", http.StatusForbidden},
		{"/v1/names", "]127.0.0.1[", "", "", http.StatusForbidden},
		{"/v1/names", "127.0.0.1]", "", "", http.StatusForbidden},
		{"/v1/names", "[::1]", "", "", http.StatusOK},
		{"/v1/names", "localhost", "", "", http.StatusOK},
		{"/v1/names", "127.0.0.1:8080", "traceparent", "00-1-1-00", http.StatusOK},
		{"/v1/names", "localhost:8080", "", "", http.StatusOK},
		{"/v1/names", "127.0.0.1", "", "", http.StatusOK},
		{"/v1/names", "[::1]:8080", "", "", http.StatusOK},
		{"/v1/names", "evil.example.com", "", "", http.StatusForbidden},
		{"/v1/names", "localhost.evil.example.com:8080", "", "", http.StatusForbidden},
		{"/v1/names", "localhost", "X-Forwarded-For", "192.0.2.1", http.StatusForbidden},
		{"/v1/names", "localhost", "Forwarded", "for=192.0.2.1", http.StatusForbidden},
		{"/v1/names", "names.example.com", "Authorization", "Bearer dibs_x", http.StatusOK}, // authentication decides
		{"/v1/names", "evil.example.com", "Authorization", "Basic eDp5", http.StatusForbidden},
		{"/v1/names", "evil.example.com", "Authorization", "Bearer", http.StatusForbidden},
		{"/v1/names", "evil.example.com", "Authorization", "Bearer  ", http.StatusForbidden},
		{"/metrics", "evil.example.com", "Authorization", "x", http.StatusForbidden},
		{"/metrics", "evil.example.com", "", "", http.StatusForbidden},
		{"/healthz", "10.0.0.1:8080", "", "", http.StatusOK},
	} {
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		r.Host, r.RemoteAddr = c.host, "127.0.0.1:40000"
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s of %s with %s: %d, want %d", c.path, c.host, c.header, w.Code, c.want)
		}
	}
	// The same request from another machine, and as old proxies send it.
	for name, change := range map[string]func(*http.Request){
		"another machine": func(r *http.Request) { r.RemoteAddr = "192.0.2.1:40000" },
		"no address":      func(r *http.Request) { r.RemoteAddr = "" },
		"HTTP/1.0":        func(r *http.Request) { r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.0", 1, 0 },
	} {
		r := httptest.NewRequest(http.MethodGet, "/v1/names", nil)
		r.Host, r.RemoteAddr = "localhost:8080", "127.0.0.1:40000"
		change(r)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != http.StatusForbidden {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
}
