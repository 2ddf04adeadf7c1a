package dibsotel_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/calldibs/dibs/internal/core"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsotel"
	"github.com/calldibs/dibs/memstore"
)

// traced opens a registry and keeps its spans.
func traced(t *testing.T, store dibs.Store, sampler sdktrace.Sampler) (*dibs.Registry, *sdktrace.TracerProvider, *tracetest.InMemoryExporter) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans), sdktrace.WithSampler(sampler))
	var cfg dibs.Config
	dibsotel.Observe(&cfg, provider)
	registry, err := core.Open(store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return registry, provider, spans
}

// ended closes the registry, so that all spans have ended, and returns these by name.
func ended(t *testing.T, registry *dibs.Registry, spans *tracetest.InMemoryExporter) map[string][]tracetest.SpanStub {
	t.Helper()
	if err := registry.Close(); err != nil {
		t.Fatal(err)
	}
	byName := make(map[string][]tracetest.SpanStub)
	for _, span := range spans.GetSpans() {
		byName[span.Name] = append(byName[span.Name], span)
	}
	return byName
}

func outcome(span tracetest.SpanStub) string {
	for _, a := range span.Attributes {
		if a.Key == dibsotel.Outcome {
			return a.Value.AsString()
		}
	}
	return ""
}

func TestSpansOfACall(t *testing.T) {
	t.Parallel()
	registry, provider, spans := traced(t, memstore.New(memstore.Config{}), sdktrace.AlwaysSample())
	ctx, root := provider.Tracer("test").Start(t.Context(), "request")
	for range 2 {
		_, _ = registry.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "hush-hush"}) // the second is refused
	}
	root.End()
	byName := ended(t, registry, spans)
	reserves, batches := byName["dibs.reserve"], byName["dibs.batch"]
	if len(reserves) != 2 || len(batches) != 2 || len(byName["dibs.engine.commit"]) != 1 {
		t.Fatalf("%d reserves, %d batches, %d commits", len(reserves), len(batches), len(byName["dibs.engine.commit"]))
	}
	if outcome(reserves[0]) != "ok" || outcome(reserves[1]) != "name_taken" {
		t.Errorf("outcomes %q and %q", outcome(reserves[0]), outcome(reserves[1]))
	}
	for i, reserve := range reserves {
		if reserve.Parent.SpanID() != root.SpanContext().SpanID() {
			t.Error("a call is not a child of the span in its context")
		}
		if reserve.Status.Code == codes.Error {
			t.Error("a refusal has an error status")
		}
		if batches[i].Parent.SpanID() != reserve.SpanContext.SpanID() {
			t.Error("a batch is not a child of its only caller")
		}
	}
	if parent := byName["dibs.engine.commit"][0].Parent.SpanID(); parent != batches[0].SpanContext.SpanID() {
		t.Error("a commit is not a child of its batch")
	}
}

// blockingStore blocks its first commit until open is closed.
type blockingStore struct {
	dibs.Store
	reached, open chan struct{}
	once          sync.Once
}

func (s *blockingStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	s.once.Do(func() { close(s.reached); <-s.open })
	return s.Store.Commit(ctx, groups)
}

// A batch and its callers link to each other.
func TestSharedBatchIsLinked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testSharedBatch)
}

func testSharedBatch(t *testing.T) {
	store := &blockingStore{Store: memstore.New(memstore.Config{}), reached: make(chan struct{}), open: make(chan struct{})}
	registry, provider, spans := traced(t, store, sdktrace.ParentBased(sdktrace.AlwaysSample()))
	const callers = 8
	var group sync.WaitGroup
	reserve := func(i int) {
		ctx, root := provider.Tracer("test").Start(t.Context(), "request")
		defer root.End()
		if _, err := registry.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: fmt.Sprint("name-", i)}); err != nil {
			t.Error(err)
		}
	}
	group.Go(func() { reserve(callers) })
	<-store.reached // later requests wait in the queue
	for i := range callers {
		group.Go(func() { reserve(i) })
	}
	synctest.Wait() // all of them are in the queue
	close(store.open)
	group.Wait()
	byName := ended(t, registry, spans)
	checkLinks(t, byName, callers+1)
	if n := len(byName["dibs.batch"]); n != 2 {
		t.Errorf("%d batches, want one of the first caller and one of all others", n)
	}
}

// checkLinks checks that every caller is the parent of its batch or linked with it in both
// directions.
func checkLinks(t *testing.T, byName map[string][]tracetest.SpanStub, callers int) {
	t.Helper()
	reserves := make(map[trace.SpanID]tracetest.SpanStub)
	for _, span := range byName["dibs.reserve"] {
		reserves[span.SpanContext.SpanID()] = span
	}
	found := 0
	for _, batch := range byName["dibs.batch"] {
		if _, ok := reserves[batch.Parent.SpanID()]; !ok {
			t.Error("the parent of a batch is not a caller")
		}
		found += 1 + len(batch.Links)
		for _, link := range batch.Links {
			caller := reserves[link.SpanContext.SpanID()]
			if len(caller.Links) != 1 || caller.Links[0].SpanContext.SpanID() != batch.SpanContext.SpanID() {
				t.Errorf("a caller has the links %v", caller.Links)
			}
		}
		if !hasSize(batch, 1+len(batch.Links)) {
			t.Errorf("a batch of %d has the attributes %v", 1+len(batch.Links), batch.Attributes)
		}
	}
	if len(reserves) != callers || found != callers {
		t.Errorf("%d callers, %d of them in batches, want %d", len(reserves), found, callers)
	}
}

func hasSize(span tracetest.SpanStub, n int) bool {
	for _, a := range span.Attributes {
		if a == (attribute.KeyValue{Key: dibsotel.Size, Value: attribute.IntValue(n)}) {
			return true
		}
	}
	return false
}

// Without a sampled caller there are no spans of a batch or an engine.
func TestRecordsNothingUnsampled(t *testing.T) {
	t.Parallel()
	registry, _, spans := traced(t, memstore.New(memstore.Config{}), sdktrace.NeverSample())
	if _, err := registry.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "a"}); err != nil {
		t.Fatal(err)
	}
	if byName := ended(t, registry, spans); len(byName) != 0 {
		t.Errorf("%v", byName)
	}
}

// failing is a store whose Load fails.
type failing struct{ dibs.Store }

func (failing) Load(context.Context, []dibs.Ref) (dibs.LoadResult, error) {
	return dibs.LoadResult{}, dibs.Unavailable(fmt.Errorf("password hunter2 is wrong"))
}

func TestFaultsHaveStatusWithoutText(t *testing.T) {
	t.Parallel()
	registry, _, spans := traced(t, failing{memstore.New(memstore.Config{})}, sdktrace.AlwaysSample())
	if _, err := registry.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "a"}); err == nil {
		t.Fatal("no error")
	}
	byName := ended(t, registry, spans)
	for _, name := range []string{"dibs.reserve", "dibs.batch", "dibs.engine.load"} {
		span := byName[name][0]
		if span.Status.Code != codes.Error || span.Status.Description != "unavailable" || outcome(span) != "unavailable" || len(span.Events) > 0 {
			t.Errorf("%s: %v, %v, %v", name, span.Status, span.Attributes, span.Events)
		}
	}
}

func ExampleObserve() {
	// The provider exports the spans.
	provider := sdktrace.NewTracerProvider()
	cfg := dibs.Config{}
	dibsotel.Observe(&cfg, provider)
	registry, err := core.Open(memstore.New(memstore.Config{}), cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = registry.Close() }()
	hold, err := registry.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: "alice"})
	fmt.Println(hold.Key(), err)
	// Output: slug:alice <nil>
}
