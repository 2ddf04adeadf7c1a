package pgstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// exec runs a statement around the proxy.
func (r *rig) exec(statement string, args ...any) {
	r.Helper()
	if _, err := r.direct.Exec(context.Background(), statement, args...); err != nil {
		r.Fatalf("%s: %v", statement, err)
	}
}

func TestSchemaIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(r *rig)
		cfg     pgstore.Config
		want    error
	}{
		{"missing", func(*rig) {}, pgstore.Config{NoMigrations: true}, pgstore.ErrOldSchema},
		{"empty", func(r *rig) { r.exec("CREATE SCHEMA " + r.schema) }, pgstore.Config{NoMigrations: true}, pgstore.ErrOldSchema},
		{"half", func(r *rig) {
			r.aside(pgstore.Config{})
			r.exec("DELETE FROM " + r.table("dibs_schema") + " WHERE step > 5")
		}, pgstore.Config{NoMigrations: true}, pgstore.ErrOldSchema},
		{"newer", newer, pgstore.Config{}, pgstore.ErrNewerSchema},
		{"newer, without migrations", newer, pgstore.Config{NoMigrations: true}, pgstore.ErrNewerSchema},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			test.prepare(r)
			if _, err := r.tryOpen(test.cfg); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if test.cfg.NoMigrations {
				return
			}
			test.cfg.Schema = r.schema
			if err := pgstore.Migrate(context.Background(), pgtest.Shared(t).DSN("postgres"), test.cfg); !errors.Is(err, test.want) {
				t.Errorf("the error of Migrate is %v, want %v", err, test.want)
			}
		})
	}
}

func newer(r *rig) {
	r.aside(pgstore.Config{})
	r.exec("INSERT INTO " + r.table("dibs_schema") + " (step) VALUES (10000)")
}

// A schema may have any name that PostgreSQL allows, for tables, NOTIFY and a caller's transaction.
func TestOddSchemaNames(t *testing.T) {
	sequential(t)
	t.Parallel()
	for _, schema := range []string{
		`Ünï "x"`, `a.b; -- 'c'`, `$1`, `%s`, `{schema}`,
		strings.Repeat("x", 63),
		"x" + strings.Repeat("ü", 31), // 63 bytes, and the channel is a little longer
	} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			r := rigOn(t, schema)
			t.Cleanup(func() { r.exec("DROP SCHEMA " + pgx.Identifier{schema}.Sanitize() + " CASCADE") })
			writer, reader := r.twoProcesses(dibs.Config{})
			seen := r.watch(reader)
			r.listening()
			r.delays(writer, seen, "a", 1)
			tx, err := r.direct.Begin(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := pgstore.WithTx(reader, tx).Claim(context.Background(), dibs.Claim{Namespace: "slug", Value: "b", Entity: user("b")}); err != nil {
				t.Error(err)
			}
			if err := tx.Commit(context.Background()); err != nil {
				t.Error(err)
			}
			r.await("both were notified", func() bool { return r.proxy.Notifications() >= 2 })
		})
	}
}

func TestLongSchemaNameIsRefused(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{strings.Repeat("x", 64), strings.Repeat("ü", 32)} {
		r := rigOn(t, schema)
		if _, err := r.tryOpen(pgstore.Config{}); err == nil || !strings.Contains(err.Error(), "63") {
			t.Errorf("Open: %v, want an error with the bound", err)
		}
		err := pgstore.Migrate(context.Background(), pgtest.Shared(t).DSN("postgres"), pgstore.Config{Schema: schema})
		if err == nil || !strings.Contains(err.Error(), "63") {
			t.Errorf("Migrate: %v, want an error with the bound", err)
		}
		if n := ask[int](r, "SELECT count(*) FROM pg_namespace WHERE nspname = left($1, 63) OR nspname = left($1, 31)", schema); n != 0 {
			t.Error("a schema was created")
		}
	}
}

// Every constraint and index has a comment, for readers with psql.
func TestCommentsOfConstraintsAndIndexes(t *testing.T) {
	t.Parallel()
	r := rigOn(t, schemaFor(t))
	oid := ask[uint32](r, "SELECT oid FROM pg_namespace WHERE nspname = $1", r.schema)
	silent := ask[[]string](r, `SELECT coalesce(array_agg(name), '{}') FROM (
		SELECT conname FROM pg_constraint WHERE connamespace = $1 AND contype <> 'n' AND obj_description(oid, 'pg_constraint') IS NULL
		UNION ALL
		SELECT relname FROM pg_class c WHERE relnamespace = $1 AND relkind IN ('r', 'v', 'i') AND obj_description(oid, 'pg_class') IS NULL
			AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = c.oid)) AS s(name)`, oid)
	for _, name := range silent {
		t.Errorf("%s has no comment", name)
	}
	if n := ask[int](r, "SELECT count(*) FROM pg_constraint WHERE connamespace = $1", oid); n < 10 {
		t.Errorf("only %d constraints were checked", n)
	}
}

// Open refuses a database that cannot hold every name, before it creates anything.
func TestOtherEncodingsAreRefused(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Shared(t)
	for _, encoding := range []string{"LATIN1", "SQL_ASCII"} {
		r := newRig(t)
		database := "encoding_" + strings.ToLower(encoding)
		r.exec("CREATE DATABASE " + database + " ENCODING '" + encoding + "' LOCALE 'C' TEMPLATE template0")
		t.Cleanup(func() { r.exec("DROP DATABASE " + database + " WITH (FORCE)") })
		if _, err := pgstore.Open(context.Background(), cluster.DSN(database), pgstore.Config{Schema: r.schema}); !errors.Is(err, pgstore.ErrEncoding) {
			t.Errorf("%s: %v, want ErrEncoding", encoding, err)
		}
		if err := pgstore.Migrate(context.Background(), cluster.DSN(database), pgstore.Config{Schema: r.schema}); !errors.Is(err, pgstore.ErrEncoding) {
			t.Errorf("%s: the error of Migrate is %v, want ErrEncoding", encoding, err)
		}
	}
}
