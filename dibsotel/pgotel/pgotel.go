// Package pgotel tells OpenTelemetry which statements a registry on PostgreSQL runs:
//
//	store, err := pgstore.Open(ctx, dsn, pgstore.Config{Tracer: pgotel.Tracer{}})
//
// Statements are spans below those of package dibsotel, of the same provider. Where there
// is no span that is recorded nothing is done. Their text is that of the program,
// with $1 where a value goes; values are not recorded.
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

// The attributes of spans, by OpenTelemetry's conventions for databases.
const (
	systemKey    = attribute.Key("db.system.name")
	textKey      = attribute.Key("db.query.text")
	batchSizeKey = attribute.Key("db.operation.batch.size")
	statusKey    = attribute.Key("db.response.status_code")
)

// Tracer is a tracer of pgx. It is safe for concurrent use.
type Tracer struct{}

var (
	_ pgx.QueryTracer = Tracer{}
	_ pgx.BatchTracer = Tracer{}
)

const scope = dibsotel.Scope + "/dibsotel/pgotel"

// started marks the contexts of spans that this Tracer began: what it did not begin it
// must not end.
type started struct{}

// TraceQueryStart begins the span of a statement.
func (Tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return start(ctx, "postgres.query", textKey.String(data.SQL))
}

// TraceQueryEnd ends it.
func (Tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	end(ctx, data.Err)
}

// TraceBatchStart begins the span of statements that are sent in one go.
func (Tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	return start(ctx, "postgres.batch", batchSizeKey.Int(data.Batch.Len()))
}

// TraceBatchQuery notes that a statement of the batch was answered.
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

// start begins a span below one that is recorded. What a store does for itself, such as
// numbering the feed, is nobody's trace.
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

// statusOf is the SQLSTATE of an error. Its text may have values in it.
func statusOf(err error) string {
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failed.Code
	}
	return "lost"
}
