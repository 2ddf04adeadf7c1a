package pgstore_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs/internal/pgtest"
)

// schema is a schema of the shared cluster for one case of a suite after the other: to make and drop
// one takes longer than most cases.
type schema struct {
	name, quoted string
	conn         *pgx.Conn
	objects      string // what describe returns after the first Open
}

var (
	emptySchemas = make(chan *schema, 100)
	schemasMade  atomic.Int64
)

func newSchema(tb testing.TB) *schema {
	tb.Helper()
	conn, err := pgx.Connect(context.Background(), pgtest.Shared(tb).DSN("postgres"))
	if err != nil {
		tb.Fatal(err)
	}
	name := fmt.Sprintf("reused_%d", schemasMade.Add(1))
	s := &schema{name: name, quoted: pgx.Identifier{name}.Sanitize(), conn: conn}
	s.run(tb, "CREATE SCHEMA "+s.quoted+"; CREATE SEQUENCE SCHEMA.clock")
	return s
}

func (s *schema) run(tb testing.TB, statements string) {
	tb.Helper()
	if _, err := s.conn.Exec(context.Background(), strings.ReplaceAll(statements, "SCHEMA.", s.quoted+".")); err != nil {
		tb.Error(err)
	}
}

// describe lists what a case may add to the schema or change in it, apart from rows.
func (s *schema) describe(tb testing.TB) (objects string) {
	tb.Helper()
	err := s.conn.QueryRow(context.Background(), `SELECT string_agg(object, E'\n' ORDER BY object) FROM (
		SELECT relname::text FROM pg_class WHERE relnamespace = $1::text::regnamespace
		UNION ALL SELECT proname::text FROM pg_proc WHERE pronamespace = $1::text::regnamespace
		UNION ALL SELECT conrelid || ' ' || conname || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = $1::text::regnamespace
		UNION ALL SELECT tgrelid || ' ' || tgname FROM pg_trigger WHERE tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = $1::text::regnamespace)
		) AS all_objects (object)`, s.quoted).Scan(&objects)
	if err != nil {
		tb.Error(err)
	}
	return objects
}

// giveBack empties the schema for the next case, or drops it if it is no longer as Open made it.
func (s *schema) giveBack(tb testing.TB) {
	tb.Helper()
	if tb.Failed() || s.describe(tb) != s.objects {
		s.run(tb, "DROP SCHEMA "+s.quoted+" CASCADE")
		_ = s.conn.Close(context.Background())
		return
	}
	s.run(tb, `DELETE FROM SCHEMA.dibs_name_rows; DELETE FROM SCHEMA.dibs_entities; DELETE FROM SCHEMA.dibs_documents; DELETE FROM SCHEMA.dibs_events;
		DELETE FROM SCHEMA.dibs_batches; DELETE FROM SCHEMA.dibs_counts; DELETE FROM SCHEMA.dibs_head; INSERT INTO SCHEMA.dibs_head (seq) VALUES (0)`)
	emptySchemas <- s
}
