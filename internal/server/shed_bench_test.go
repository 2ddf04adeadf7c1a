package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/limit"
)

// BenchmarkShed measures the cost of rejecting a request. It must be small, or an overloaded
// server would only reject.
func BenchmarkShed(b *testing.B) {
	r := newRig(b, inMemory, nil, func(c *Config) {
		c.Limits, c.Logger = limit.Limits{MaxInFlight: 1, MaxWait: time.Minute}, nil
	})
	r.server.limits.gate.Acquire(b.Context())
	defer r.server.limits.gate.Release()
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequest(http.MethodPost, "/v1/reservations", strings.NewReader(`{}`))
		r.server.ServeHTTP(httptest.NewRecorder(), req)
	}
}
