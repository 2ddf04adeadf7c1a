package servetest_test

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector receives traces by OTLP over HTTP.
type collector struct {
	*testing.T
	url string

	mu       sync.Mutex
	header   http.Header
	text     string // everything that was received, as text
	services []string
	spans    []*tracepb.Span
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{T: t}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// ServeHTTP receives one export.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var sent collectorpb.ExportTraceServiceRequest
	body, err := gzip.NewReader(r.Body)
	if err == nil {
		var data []byte
		if data, err = io.ReadAll(body); err == nil {
			err = proto.Unmarshal(data, &sent)
		}
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		c.Errorf("%s: %v", r.URL.Path, err)
		http.Error(w, "no traces", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.header, c.text = r.Header, c.text+sent.String()
	for _, of := range sent.GetResourceSpans() {
		for _, a := range of.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				c.services = append(c.services, a.GetValue().GetStringValue())
			}
		}
		for _, scope := range of.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
}

// chains returns the name of each span after the names of its ancestors. The first element
// is the id of the remote parent.
func (c *collector) chains() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	byID := make(map[string]*tracepb.Span)
	for _, span := range c.spans {
		byID[string(span.GetSpanId())] = span
	}
	chains := make(map[string]int)
	for _, span := range c.spans {
		chain := span.GetName()
		parent := span.GetParentSpanId()
		for byID[string(parent)] != nil {
			chain = byID[string(parent)].GetName() + " > " + chain
			parent = byID[string(parent)].GetParentSpanId()
		}
		chains[hex.EncodeToString(parent)+" > "+chain]++
	}
	return chains
}
