package dibshttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/calldibs/dibs/dibshttp"
)

// BenchmarkWrap measures a request with and without the middleware, with the names in memory.
func BenchmarkWrap(b *testing.B) {
	reg, _ := newRegistry(b)
	names, err := dibshttp.New(reg, dibshttp.Config{Namespace: "slug"})
	if err != nil {
		b.Fatal(err)
	}
	for name, handler := range map[string]http.Handler{"bare": page, "wrapped": names.Wrap(page)} {
		b.Run(name, func(b *testing.B) {
			req := httptest.NewRequest(http.MethodGet, "/the-smiths", http.NoBody)
			for b.Loop() {
				handler.ServeHTTP(httptest.NewRecorder(), req)
			}
		})
	}
}
