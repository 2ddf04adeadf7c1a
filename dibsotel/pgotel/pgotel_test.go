//go:build unix

package pgotel_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/calldibs/dibs/dibsotel/pgotel"
	"github.com/calldibs/dibs/internal/pgtest"
)

// The span of a statement is a child of the one in its context. It contains no value: not
// as an argument, and not in the message of PostgreSQL about an invalid one.
func TestStatements(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	if _, err := conn.Exec(t.Context(), "SELECT 'without a parent'"); err != nil {
		t.Fatal(err)
	}
	ctx, root := provider.Tracer("test").Start(t.Context(), "parent")
	if _, err := conn.Exec(ctx, "SELECT $1::text", "hunter2"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "SELECT ($1::text)::int", "hunter2"); err == nil {
		t.Fatal("no error")
	}
	var batch pgx.Batch
	batch.Queue("SELECT $1::text", "hunter2")
	batch.Queue("SELECT ($1::text)::int", "hunter2")
	if err := conn.SendBatch(ctx, &batch).Close(); err == nil {
		t.Fatal("no error of the batch")
	}
	root.End()

	var got []string
	for _, span := range spans.GetSpans() {
		if span.Name == "parent" {
			continue
		}
		got = append(got, span.Name+" "+span.Status.Description)
		if span.Parent.SpanID() != root.SpanContext().SpanID() {
			t.Errorf("%s is not a child of the span in its context", span.Name)
		}
	}
	if want := "postgres.query , postgres.query 22P02, postgres.batch 22P02"; strings.Join(got, ", ") != want {
		t.Errorf("the spans are %q, want %q", got, want)
	}
	text, err := json.Marshal(spans.GetSpans())
	if err != nil || strings.Contains(string(text), "hunter2") || strings.Contains(string(text), "without a parent") {
		t.Errorf("the spans contain a value, or a statement without a parent: %s, %v", text, err)
	}
	if !strings.Contains(string(text), "SELECT $1::text") {
		t.Error("the spans contain no statement")
	}
}

// connect returns a connection with the tracer.
func connect(t *testing.T) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(pgtest.Shared(t).DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Tracer = pgotel.Tracer{}
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}
