// Package pgotel traces the statements of a registry on PostgreSQL with OpenTelemetry:
//
//	store, err := pgstore.Open(ctx, dsn, pgstore.Config{Tracer: pgotel.Tracer{}})
//
// The span of a statement is a child of a span of package dibsotel, with the same provider.
// Without a recording parent there is no span. A span contains the text of the statement,
// with $1 in place of a value; values are not recorded.
package pgotel

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/calldibs/dibs/dibsotel"
)

// The attributes of spans follow OpenTelemetry's conventions for databases.
const (
	systemKey    = attribute.Key("db.system.name")
	textKey      = attribute.Key("db.query.text")
	batchSizeKey = attribute.Key("db.operation.batch.size")
	statusKey    = attribute.Key("db.response.status_code")
)

// Tracer is a tracer for pgx. The zero Tracer is ready to use. It is safe for concurrent use.
type Tracer struct{}

var (
	_ pgx.QueryTracer = Tracer{}
	_ pgx.BatchTracer = Tracer{}
)

const scope = dibsotel.Scope + "/dibsotel/pgotel"

// started marks the contexts of spans that this Tracer started: it must not end others.
type started struct{}

// TraceQueryStart starts the span of a statement.
func (Tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return start(ctx, "postgres.query", textKey.String(data.SQL))
}

// TraceQueryEnd ends the span of a statement.
func (Tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	end(ctx, data.Err)
}

// TraceBatchStart starts the span of a batch of statements.
func (Tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	return start(ctx, "postgres.batch", batchSizeKey.Int(data.Batch.Len()))
}

// TraceBatchQuery records the result of a statement of the batch.
func (Tracer) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	if ctx.Value(started{}) == nil {
		return
	}
	attributes := []attribute.KeyValue{textKey.String(data.SQL)}
	if data.Err != nil {
		attributes = append(attributes, statusKey.String(statusOf(data.Err)))
	}
	trace.SpanFromContext(ctx).AddEvent("postgres.statement", trace.WithAttributes(attributes...))
}

// TraceBatchEnd ends the span of the batch.
func (Tracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	end(ctx, data.Err)
}

// start starts a child of a span that is recorded. Background work of the store, such as
// numbering the feed, is in no trace.
func start(ctx context.Context, name string, attributes ...attribute.KeyValue) context.Context {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx
	}
	ctx, _ = parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(append(attributes, systemKey.String("postgresql"))...))
	return context.WithValue(ctx, started{}, true)
}

func end(ctx context.Context, err error) {
	if ctx.Value(started{}) == nil {
		return
	}
	span := trace.SpanFromContext(ctx)
	if err != nil {
		status := statusOf(err)
		span.SetAttributes(statusKey.String(status))
		span.SetStatus(codes.Error, status)
	}
	span.End()
}

// statusOf returns the SQLSTATE of an error. It leaves out the text, which may contain values.
func statusOf(err error) string {
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failed.Code
	}
	return "lost"
}
