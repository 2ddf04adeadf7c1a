package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Every router gives the same responses.
func TestRouters(t *testing.T) {
	t.Parallel()
	registry, err := openRegistry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = registry.Close() })
	names, err := newNames(registry)
	if err != nil {
		t.Fatal(err)
	}
	for name, router := range routers {
		site := router(names)
		for _, visit := range []struct {
			path   string
			status int
			body   string
			to     string
			cache  string
		}{
			{"/", http.StatusOK, "welcome", "", ""},
			{"/w/the-smiths/photos?page=2", http.StatusOK, "photos of wedding/42", "", "no-cache"},
			{"/w/alice-bob/photos?page=2", http.StatusMovedPermanently, "", "/w/the-smiths/photos?page=2", "max-age=60, must-revalidate"},
			{"/w/The%20Smiths/photos", http.StatusMovedPermanently, "", "/w/the-smiths/photos", "max-age=60, must-revalidate"},
			{"/w/nobody/photos", http.StatusNotFound, "", "", "max-age=60, must-revalidate"},
			{"/w/the-joneses/photos", http.StatusGone, "", "", "max-age=60, must-revalidate"},
		} {
			response := httptest.NewRecorder()
			site.ServeHTTP(response, httptest.NewRequest(http.MethodGet, visit.path, http.NoBody))
			header := response.Result().Header
			if response.Code != visit.status || header.Get("Location") != visit.to || header.Get("Cache-Control") != visit.cache {
				t.Errorf("%s: %s is %d to %q, with Cache-Control %q", name, visit.path, response.Code, header.Get("Location"), header.Get("Cache-Control"))
			}
			if visit.body != "" && response.Body.String() != visit.body {
				t.Errorf("%s: %s shows %q", name, visit.path, response.Body)
			}
		}
	}
}
