package servetest_test

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/calldibs/dibs/internal/freeport"
	"github.com/calldibs/dibs/internal/pgtest"
)

// What a trace must never contain, and the ids of the test's own request.
const (
	traceValue  = "a-very-private-name"
	traceToken  = "a-token-that-nobody-may-see"
	traceEntity = "entity-4711"
	traceKey    = "the-collectors-own-key"

	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	callersSpan  = "b7ad6b7169203331"
)

// serveTraced starts a server that sends traces.
func serveTraced(t *testing.T, endpoint string, sample float64, args ...string) *process {
	t.Helper()
	return serveTracedWith(t, endpoint, sample, "", args...)
}

// serveTracedWith is serveTraced with additional configuration.
func serveTracedWith(t *testing.T, endpoint string, sample float64, more string, args ...string) *process {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, dir, "collector", "X-Key: "+traceKey+"\n")
	writeFile(t, dir, "dibs.toml", fmt.Sprintf("logLevel = \"debug\"\n[tracing]\nendpoint = %q\nsample = %v\nheadersFile = \"collector\"\n%s", endpoint, sample, more))
	return serve(t, dir, append([]string{"--config", "dibs.toml"}, args...)...)
}

// reserveTraced reserves a name as part of a caller's trace, or without one.
func reserveTraced(t *testing.T, client *http.Client, url, value, parent string) int {
	t.Helper()
	headers := []string{"Idempotency-Key", traceToken + value}
	if parent != "" {
		headers = append(headers, "traceparent", parent, "baggage", "user="+traceEntity)
	}
	body := fmt.Sprintf(`{"namespace": "slug", "value": %q, "entity": {"type": "user", "id": %q}}`, value, traceEntity)
	a, err := ask(client, http.MethodPost, url+"/v1/reservations", body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a.status
}

// stopped stops a server like an operator.
func stopped(t *testing.T, p *process) {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestTraceFromRequestToStatement(t *testing.T) {
	t.Parallel()
	commit := callersSpan + " > POST /v1/reservations > dibs.reserve > dibs.batch > dibs.engine.commit"
	for name, test := range map[string]struct {
		store func(t *testing.T) string
		want  []string
	}{
		"sqlite": {func(*testing.T) string { return "sqlite:names.db" }, []string{commit}},
		"postgres": {
			func(t *testing.T) string { return newSchema(t, pgtest.Shared(t)) },
			[]string{commit, commit + " > postgres.batch", callersSpan + " > POST /v1/reservations > dibs.reserve > dibs.batch > dibs.engine.load > postgres."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t)
			// Requests without a caller's trace are not traced.
			p := serveTraced(t, c.url, 0, "--store", test.store(t))
			parent := "00-" + callersTrace + "-" + callersSpan + "-01"
			if status := reserveTraced(t, newClient(t, 1), p.url, traceValue, parent); status != http.StatusCreated {
				t.Fatalf("status %d", status)
			}
			_ = get(t, p.url+"/v1/resolve/slug/"+traceValue, "traceparent", parent)
			reserveTraced(t, newClient(t, 1), p.url, traceValue, "")
			_ = get(t, p.url+"/readyz", "traceparent", parent)
			stopped(t, p)
			checkTrace(t, c, p, test.want)
		})
	}
}

func checkTrace(t *testing.T, c *collector, p *process, want []string) {
	t.Helper()
	chains := c.chains()
	for _, prefix := range append(want, callersSpan+" > GET /v1/resolve/{namespace}/{value} > dibs.resolve > dibs.engine.load") {
		found := false
		for chain := range chains {
			found = found || strings.HasPrefix(chain, prefix)
		}
		if !found {
			t.Errorf("there is no %s in %v", prefix, chains)
		}
	}
	requests := 0
	for chain, n := range chains {
		if strings.Count(chain, " > ") == 1 {
			requests += n
		}
	}
	if requests != 2 {
		t.Errorf("%d spans have no local parent, want those of two requests: %v", requests, chains)
	}
	for _, secret := range []string{traceValue, traceToken, traceEntity, traceKey} {
		if strings.Contains(c.text, secret) {
			t.Errorf("%s was sent to the collector", secret)
		}
	}
	if c.header.Get("X-Key") != traceKey || len(c.services) == 0 || c.services[0] != "dibs" {
		t.Errorf("the collector got the key %q from %q", c.header.Get("X-Key"), c.services)
	}
	if log := p.stderr.String(); !strings.Contains(log, "trace="+callersTrace) || strings.Contains(log, traceKey) {
		t.Error("the log has no trace, or the collector's key")
	}
}

// Without a collector the server works as before, and logs the failure once.
func TestCollectorThatIsNotThere(t *testing.T) {
	t.Parallel()
	hanging, err := net.Listen("tcp", "127.0.0.1:0") // it accepts connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hanging.Close() })
	for name, address := range map[string]string{"refuses": freeport.Address(t), "hangs": hanging.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serveTraced(t, "http://"+address, 1, "--store", "sqlite:names.db")
			// More spans than the queue holds: each request has several.
			requests := 1000
			if testing.Short() {
				requests = 100
			}
			client := newClient(t, 1)
			for i := range requests {
				if status := reserveTraced(t, client, p.url, fmt.Sprint("name-", i), ""); status != http.StatusCreated {
					t.Fatalf("request %d got %d", i, status)
				}
			}
			metrics := string(get(t, p.url+"/metrics").body)
			if !strings.Contains(metrics, "\ndibs_trace_spans_sent_total 0\n") || strings.Contains(metrics, "\ndibs_trace_spans_total 0\n") {
				t.Error("the metrics do not count unsent spans")
			}
			begin := time.Now()
			stopped(t, p)
			if took := time.Since(begin); took > 15*time.Second {
				t.Errorf("stopping took %v", took)
			}
			// If the collector hangs, the server may end before it detects that.
			log := p.stderr.String()
			cannot, last := strings.Count(log, "traces cannot be sent"), strings.Count(log, "the last traces were not sent")
			if cannot > 1 || last > 1 || cannot+last == 0 {
				t.Errorf("the log reports it %d times, and %d times at the end", cannot, last)
			}
		})
	}
}

func TestNoTracesUnlessConfigured(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	p := listen(t, start(t, t.TempDir(), []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.url},
		"serve", "--listen", "127.0.0.1:0", "--store", "mem:", "--log-level", "debug"))
	reserveTraced(t, newClient(t, 1), p.url, traceValue, "00-"+callersTrace+"-"+callersSpan+"-01")
	if strings.Contains(string(get(t, p.url+"/metrics").body), "dibs_trace_spans_total") {
		t.Error("the metrics contain traces")
	}
	stopped(t, p)
	if c.text != "" || strings.Contains(p.stderr.String(), callersTrace) {
		t.Error("the request was traced")
	}
}

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
