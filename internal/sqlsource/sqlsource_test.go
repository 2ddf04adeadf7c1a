//go:build linux

package sqlsource_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/calldibs/dibs/dibsimport"
	"github.com/calldibs/dibs/internal/mariatest"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/internal/sqlsource"
)

// databases returns the URL of an empty database of each kind.
var databases = map[string]func(*testing.T) string{
	"PostgreSQL": func(t *testing.T) string { return pgtest.Shared(t).NewDatabase(t) },
	"MariaDB":    func(t *testing.T) string { return mariatest.Start(t).URL() },
	"SQLite": func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "shop.db")
		db, err := sql.Open("sqlite", path)
		if err == nil {
			err = errors.Join(db.Ping(), db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return "sqlite:" + path
	},
}

func TestQuery(t *testing.T) {
	t.Parallel()
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := database(t)
			fill(t, at, `CREATE TABLE users (id BIGINT PRIMARY KEY, name VARCHAR(50), made TIMESTAMP NULL, archived BOOLEAN)`,
				`INSERT INTO users VALUES (1, 'Zoë', '2020-03-01 10:00:00', NULL), (9007199254740993, 'b', NULL, TRUE), (3, NULL, NULL, FALSE)`)
			records, err := read(t, at, "SELECT id, name, made, archived FROM users ORDER BY id")
			if err != nil || len(records) != 3 {
				t.Fatal(records, err)
			}
			for i, want := range []map[string]string{
				{"id": "1", "name": "Zoë", "made": "2020-03-01T10:00:00Z"},
				{"id": "3"},
				{"id": "9007199254740993", "name": "b"},
			} {
				got := records[i]
				if got.Where != fmt.Sprintf("row %d", i+1) || got.Fields["id"] != want["id"] || got.Fields["name"] != want["name"] || got.Fields["made"] != want["made"] {
					t.Errorf("%v, want %v", got, want)
				}
			}
			if archived := records[2].Fields["archived"]; archived != "true" && archived != "1" {
				t.Errorf("archived is %q", archived)
			}
			if _, err := read(t, at, "SELECT x FROM nowhere"); err == nil || !strings.Contains(err.Error(), "nowhere") {
				t.Error(err)
			}
		})
	}
}

// A source goes away in the middle: the error says after which row.
func TestSourceGoesAway(t *testing.T) {
	t.Parallel()
	db, err := sqlsource.Open(pgtest.Shared(t).NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := dibsimport.Query(t.Context(), db, `SELECT n, 1 / (3 - n) AS x FROM generate_series(1, 5) n`)
	for err == nil {
		_, err = rows.Next()
	}
	if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "after row 2: ") {
		t.Error(err)
	}
}

func TestBadURL(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"oracle://x":                    "postgres://…, mysql://… or sqlite:file",
		"mysql://a:secret@h/db?speed=1": `unknown parameter "speed"`,
		"mysql://a:secret\x7f@h/db":     "not well-formed",
		"mysql:a:secret@h/db":           "must be followed by //",
		"mysql://a:1?secret@h/db":       "write it as %2F, %3F or %23",
		"mysql://a:1/secret@h/db":       "write it as %2F, %3F or %23",
		"mysql://a:1#secret@h/db":       "write it as %2F, %3F or %23",
		"postgres://a:1?secret@h/db":    "? as %3F",
		"users.csv":                     "postgres://…",
	} {
		_, err := sqlsource.Open(source)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", source, err, want)
		}
	}
}

// A file has any name, and no other file is opened in its place.
func TestSQLiteFileOfAnyName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"my%20db.db", "a#b.db", "two words.db"} {
		folder := t.TempDir()
		at := "sqlite:" + filepath.Join(folder, name)
		store := (&url.URL{Scheme: "file", Path: filepath.Join(folder, name)}).String()
		db, err := sql.Open("sqlite", store)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE users (id)"); err != nil {
			t.Fatal(err)
		}
		_ = db.Close()
		if _, err := read(t, at, "SELECT id FROM users"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := read(t, at, "DELETE FROM users RETURNING id"); err == nil {
			t.Errorf("%s: it was opened for writing", name)
		}
		if files, err := os.ReadDir(folder); err != nil || len(files) != 1 || files[0].Name() != name {
			t.Errorf("%s: %v %v", name, files, err)
		}
	}
}

// The source is opened for reading only.
func TestSQLiteIsNotCreated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none.db")
	if _, err := read(t, "sqlite:"+path, "SELECT 1"); err == nil {
		t.Error("a file that is not there was opened")
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file was created", err)
	}
}

func fill(t *testing.T, at string, statements ...string) {
	t.Helper()
	var db *sql.DB
	var err error
	if path, ok := strings.CutPrefix(at, "sqlite:"); ok {
		db, err = sql.Open("sqlite", path) // a source is read-only
	} else {
		db, err = sqlsource.Open(at)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, at, query string) ([]dibsimport.Record, error) {
	t.Helper()
	db, err := sqlsource.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := dibsimport.Query(t.Context(), db, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []dibsimport.Record
	for {
		record, err := rows.Next()
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, err
		}
		all = append(all, record)
	}
}

// Values of all usual types become text. NULL is no value.
func TestTypes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		query string
		want  []string // in the order of the columns a, b, c, …
		bad   string   // a query whose value is no text
	}{
		"PostgreSQL": {
			`SELECT 7::smallint a, 7.50::numeric b, 1.5::float8 c, true d, 'x'::varchar e, '3f2504e0-4f89-11d3-9a0c-0305e82c3301'::uuid f,
				'2020-03-01'::date g, '2020-03-01 10:00+02'::timestamptz h, NULL::text i, '{"a": 1}'::jsonb j, 'y'::bytea k`,
			[]string{"7", "7.50", "1.5", "true", "x", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "2020-03-01T00:00:00Z", "2020-03-01T08:00:00Z", "", `{"a": 1}`, "y"},
			`SELECT 1 AS a, '\xff00'::bytea AS b`,
		},
		"MariaDB": {
			`SELECT CAST(7 AS INT) a, CAST(7.5 AS DECIMAL(5, 2)) b, 1.5e0 c, TRUE d, 'x' e, CAST('3f2504e0-4f89-11d3-9a0c-0305e82c3301' AS UUID) f,
				DATE '2020-03-01' g, TIMESTAMP '2020-03-01 08:00:00' h, NULL i, JSON_OBJECT('a', 1) j, CAST('y' AS BINARY) k`,
			[]string{"7", "7.50", "1.5", "1", "x", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "2020-03-01T00:00:00Z", "2020-03-01T08:00:00Z", "", `{"a": 1}`, "y"},
			`SELECT 1 AS a, UNHEX('ff00') AS b`,
		},
		"SQLite": {
			`SELECT 7 a, '7.50' b, 1.5 c, TRUE d, 'x' e, '3f2504e0-4f89-11d3-9a0c-0305e82c3301' f, date('2020-03-01') g, datetime('2020-03-01 08:00:00') h,
				NULL i, json_object('a', 1) j, CAST('y' AS BLOB) k`,
			[]string{"7", "7.50", "1.5", "1", "x", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "2020-03-01", "2020-03-01 08:00:00", "", `{"a":1}`, "y"},
			`SELECT 1 AS a, x'ff00' AS b`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := databases[name](t)
			records, err := read(t, at, c.query)
			if err != nil || len(records) != 1 {
				t.Fatal(records, err)
			}
			for i, want := range c.want {
				column := string(rune('a' + i))
				if got := records[0].Fields[column]; got != want {
					t.Errorf("%s is %q, want %q", column, got, want)
				}
			}
			if _, err := read(t, at, c.bad); err == nil || !strings.Contains(err.Error(), "row 1, column b: it is not UTF-8") {
				t.Error(err)
			}
		})
	}
}
