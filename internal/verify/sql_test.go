//go:build unix

package verify_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // to damage files

	"github.com/calldibs/dibs"
	_ "github.com/calldibs/dibs/internal/parallel"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/internal/verify"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/sqlitestore"
	"github.com/calldibs/dibs/storetest"
)

// sqlDamage is a fault that an operator, a bug or a broken disk could leave in a database. An empty
// statement means that the engine cannot have it.
type sqlDamage struct {
	found            string // "check where"; it may leave out the end
	sqlite, postgres string
}

// otherID is an id that no record has.
const (
	otherBlob = "X'0102030405060708090a0b0c0d0e0f10'"
	otherUUID = "'01020304-0506-0708-090a-0b0c0d0e0f10'"
)

// detail returns a statement that sets a column of a name which PostgreSQL has in a text.
func detail(n int, value, canonical string) string {
	return fmt.Sprintf(`UPDATE dibs_name_rows SET detail = (
		SELECT string_agg(CASE n WHEN %d THEN '%s' ELSE split_part(detail, E'\t', n) END, E'\t' ORDER BY n) FROM generate_series(1, 25) n)
		WHERE %s`, n, value, canonical)
}

// both is a damage that both databases can have by the same statement.
func both(found, statement string) sqlDamage { return sqlDamage{found, statement, statement} }

const withoutCheck = "ALTER TABLE dibs_name_rows DROP CONSTRAINT IF EXISTS dibs_names_consistent; "

var sqlDamages = []sqlDamage{
	{
		"name-id slug:given-up",
		"UPDATE dibs_names SET id = " + otherBlob + " WHERE canonical = 'given-up'",
		"UPDATE dibs_name_rows SET id = " + otherUUID + " WHERE canonical = 'given-up'",
	},
	{
		"two-rows slug:given-up",
		`DROP INDEX dibs_names_key; CREATE TEMP TABLE twin AS SELECT * FROM dibs_names WHERE canonical = 'given-up';
			UPDATE twin SET n = n + 1000, id = ` + otherBlob + `; INSERT INTO dibs_names SELECT * FROM twin`,
		`CREATE TEMP TABLE twin AS SELECT * FROM dibs_name_rows WHERE canonical = 'given-up';
			UPDATE twin SET id = ` + otherUUID + `; INSERT INTO dibs_name_rows SELECT * FROM twin`,
	},
	{
		"state slug:given-up",
		"PRAGMA ignore_check_constraints = 1; UPDATE dibs_names SET status = 'reserved' WHERE canonical = 'given-up'",
		withoutCheck + detail(3, "reserved", "canonical = 'given-up'"),
	},
	{"due slug:held", "UPDATE dibs_names SET due = NULL WHERE canonical = 'held'", "UPDATE dibs_name_rows SET due = NULL WHERE canonical = 'held'"},
	{
		"canonical username:ann",
		"UPDATE dibs_names SET value = 'Other' WHERE namespace = 'username' AND canonical = 'ann'",
		detail(1, "Other", "namespace = 'username' AND canonical = 'ann'"),
	},
	{
		"tombstone username:(forgotten)",
		"UPDATE dibs_names SET principal = 'robot' WHERE namespace = 'username' AND hex(canonical) LIKE '7F%'",
		detail(6, "robot", "namespace = 'username' AND canonical LIKE E'\\x7f%'"),
	},
	{
		"spent slug:released",
		"UPDATE dibs_names SET spent = zeroblob(17 * 41) WHERE canonical = 'released'",
		detail(25, strings.Repeat("00", 17*41), "canonical = 'released'"),
	},
	{
		"moved slug:ann",
		"UPDATE dibs_names SET links = X'740102030405060708090a0b0c0d0e0f10' WHERE namespace = 'slug' AND canonical = 'ann'",
		detail(24, "740102030405060708090a0b0c0d0e0f10", "namespace = 'slug' AND canonical = 'ann'"),
	},
	{
		"entity-id user/emil",
		"UPDATE dibs_entities SET id = " + otherBlob + " WHERE entity_id = 'emil'",
		"UPDATE dibs_entities SET id = " + otherUUID + " WHERE entity_id = 'emil'",
	},
	both("entity user/ida", "UPDATE dibs_entities SET deleted = (1 = 1) WHERE entity_id = 'ida'"),
	{
		"document-id quota slug/robot",
		"UPDATE dibs_documents SET id = " + otherBlob + " WHERE kind = 'quota' AND label = 'slug/robot'",
		"UPDATE dibs_documents SET id = " + otherUUID + " WHERE kind = 'quota' AND label = 'slug/robot'",
	},
	{
		"document-data floor tag",
		"UPDATE dibs_documents SET data = CAST('{' AS BLOB) WHERE kind = 'floor' AND label = 'tag'",
		"UPDATE dibs_documents SET data = '{'::bytea WHERE kind = 'floor' AND label = 'tag'",
	},
	{
		"rules tag",
		"UPDATE dibs_documents SET data = CAST(replace(CAST(data AS TEXT), 'exact/1', 'other/1') AS BLOB) WHERE kind = 'floor' AND label = 'tag'",
		"UPDATE dibs_documents SET data = convert_to(replace(convert_from(data, 'UTF8'), 'exact/1', 'other/1'), 'UTF8') WHERE kind = 'floor' AND label = 'tag'",
	},
	both("owner slug:passed-on", "DELETE FROM dibs_entities WHERE entity_id = 'fay'"),
	both("active slug:confirmed", "UPDATE dibs_entities SET active = NULL WHERE entity_id = 'carl'"),
	{
		"one-active slug:old-bob",
		"DROP INDEX dibs_names_active; UPDATE dibs_names SET state = 'active', until = NULL, due = NULL WHERE canonical = 'old-bob'",
		"DROP INDEX dibs_names_active; UPDATE dibs_name_rows SET state = 'active', until = NULL, due = NULL WHERE canonical = 'old-bob'",
	},
	{
		"look-alikes username:bob_b",
		`UPDATE dibs_documents SET data = CAST('{"names":[]}' AS BLOB) WHERE kind = 'skeleton'`,
		`UPDATE dibs_documents SET data = '{"names":[]}'::bytea WHERE kind = 'skeleton'`,
	},
	both("blind-keys email:k1.", "DELETE FROM dibs_documents WHERE kind = 'hash'"),
	{
		"index-entry skeleton username:",
		`UPDATE dibs_documents SET data = CAST('{"names":["` + (dibs.ID{1}).String() + `"]}' AS BLOB) WHERE kind = 'skeleton'`,
		`UPDATE dibs_documents SET data = '{"names":["` + (dibs.ID{1}).String() + `"]}'::bytea WHERE kind = 'skeleton'`,
	},
	both("quota slug:held", "DELETE FROM dibs_documents WHERE kind = 'quota'"),
	both("namespace-record tag", "DELETE FROM dibs_documents WHERE kind = 'floor' AND label = 'tag'"),
	both("counts tag", "UPDATE dibs_counts SET names = names + 1 WHERE namespace = 'tag'"),
	{
		"history slug:ann",
		"DELETE FROM dibs_events WHERE name IN (SELECT n FROM dibs_names WHERE namespace = 'slug' AND canonical = 'ann')",
		`UPDATE dibs_events SET lines = '' WHERE lines LIKE E'%\tslug\t%"c":"ann"%'`,
	},
	{"orphan-event ", "DELETE FROM dibs_names WHERE canonical = 'given-up'", "DELETE FROM dibs_name_rows WHERE canonical = 'given-up'"},
	{"event-name slug:ann", "", `UPDATE dibs_events SET lines = replace(lines, '"c":"ann"', '"c":"other"') WHERE lines LIKE E'%\tslug\t%"c":"ann"%'`},
	{"event-order slug:bob", "UPDATE dibs_names SET rev = 1 WHERE canonical = 'bob'", "UPDATE dibs_name_rows SET rev = 1 WHERE canonical = 'bob'"},
	{"epoch slug:passed-on", "", `UPDATE dibs_events SET lines = replace(lines, '"e":2', '"e":1') WHERE lines LIKE '%transferred%"c":"passed-on"%'`},
	{
		"history-gap slug:confirmed",
		"DELETE FROM dibs_events WHERE kind = 'extended'",
		"UPDATE dibs_events SET lines = '' WHERE lines LIKE E'%\\textended\\t%'",
	},
	{
		"event-step slug:ann",
		"UPDATE dibs_events SET kind = 'reserved' WHERE name IN (SELECT n FROM dibs_names WHERE namespace = 'slug' AND canonical = 'ann')",
		`UPDATE dibs_events SET lines = replace(lines, 'claimed', 'reserved') WHERE lines LIKE E'%\tslug\t%"c":"ann"%'`,
	},
	{
		"replay slug:confirmed",
		"UPDATE dibs_names SET owner_id = 'emil' WHERE canonical = 'confirmed'",
		detail(13, "emil", "canonical = 'confirmed'"),
	},
	{"replay slug:passed-on", "UPDATE dibs_names SET epoch = 1 WHERE canonical = 'passed-on'", detail(4, "1", "canonical = 'passed-on'")},
	both("entity-replay user/ann", "UPDATE dibs_entities SET archived = (1 = 1) WHERE entity_id = 'ann' AND scope IS NULL"),
}

// TestEveryCheckHasAnSQLDamage checks that each check is known to find something in a database.
func TestEveryCheckHasAnSQLDamage(t *testing.T) {
	t.Parallel()
	for engine, statement := range map[string]func(sqlDamage) string{
		"SQLite":     func(d sqlDamage) string { return d.sqlite },
		"PostgreSQL": func(d sqlDamage) string { return d.postgres },
	} {
		for _, check := range verify.Checks {
			planted := slices.ContainsFunc(sqlDamages, func(d sqlDamage) bool {
				return statement(d) != "" && strings.HasPrefix(d.found, check.ID+" ")
			})
			switch check.ID {
			case "part": // see TestWrongPart
				continue
			case "event-name", "epoch": // SQLite has the names of events in the rows, and epochs in a binary body
				if engine == "SQLite" {
					continue
				}
			case "file", "damaged": // see TestFlippedBytes; PostgreSQL has checksums of its own
				continue
			}
			if !planted {
				t.Errorf("%s: no damage is planted for %s", engine, check.ID)
			}
		}
	}
}

// checkFound checks a store that must be sound, or have one damage.
func checkFound(t *testing.T, store dibs.Store, want string) {
	t.Helper()
	view, err := snapshot.Take(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = view.Close() }()
	list, _ := findings(t, view, verify.Options{})
	if want == "" && len(list) > 0 {
		t.Fatalf("a sound store has findings:\n  %s", strings.Join(list, "\n  "))
	}
	if want != "" && !slices.ContainsFunc(list, func(f string) bool { return strings.HasPrefix(f, want) }) {
		t.Errorf("%q is not among the findings:\n  %s", want, strings.Join(list, "\n  "))
	}
}

// TestDamagedFiles damages SQLite files by SQL.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	sound := filepath.Join(t.TempDir(), "sound.db")
	clock := storetest.NewClock(time.UnixMilli(1_800_000_000_000))
	store := openFile(t, sound, sqlitestore.Config{Now: clock.Now})
	registry := open(t, store)
	live(t, registry)
	clock.Advance(2 * time.Second)
	if _, err := registry.Sweep(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	checkFound(t, store, "")
	if err := registry.Close(); err != nil {
		t.Fatal(err)
	}
	for _, d := range sqlDamages {
		if d.sqlite == "" {
			continue
		}
		t.Run(strings.ReplaceAll(d.found, " ", "-"), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "damaged.db")
			copyFile(t, sound, path)
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			db.SetMaxOpenConns(1)
			// Without sums, as if a fault of the program had written it: the engine itself finds damage of the disk.
			const noSums = "; UPDATE dibs_names SET sum = NULL; UPDATE dibs_entities SET sum = NULL; UPDATE dibs_documents SET sum = NULL; " +
				"UPDATE dibs_events SET body = substr(body, 7) WHERE hex(substr(body, 1, 2)) = 'BD01'"
			if _, err := db.ExecContext(t.Context(), d.sqlite+noSums); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			store := openFile(t, path, sqlitestore.Config{Now: clock.Now, Inspect: true})
			defer func() { _ = store.Close() }()
			checkFound(t, store, d.found)
		})
	}
}

func openFile(t *testing.T, path string, cfg sqlitestore.Config) *sqlitestore.Store {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedDatabase damages a PostgreSQL database by SQL, and mends it after each damage: a database
// for each would take long.
func TestDamagedDatabase(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Shared(t).NewDatabase(t)
	store, err := pgstore.Open(t.Context(), dsn, pgstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	registry := open(t, store)
	defer func() { _ = registry.Close() }()
	live(t, registry)
	checkFound(t, store, "")
	keep, mend := "CREATE SCHEMA sound; ", ""
	for _, table := range []string{"name_rows", "entities", "documents", "batches", "events", "counts", "head"} {
		keep += fmt.Sprintf("CREATE TABLE sound.%[1]s AS TABLE dibs.dibs_%[1]s; ", table)
		mend += fmt.Sprintf("DELETE FROM dibs.dibs_%[1]s; INSERT INTO dibs.dibs_%[1]s TABLE sound.%[1]s; ", table)
	}
	execute(t, dsn, keep)
	for _, d := range sqlDamages {
		if d.postgres == "" {
			continue
		}
		t.Run(strings.ReplaceAll(d.found, " ", "-"), func(t *testing.T) {
			execute(t, dsn, "SET search_path = dibs; "+d.postgres)
			checkFound(t, store, d.found)
			execute(t, dsn, mend)
		})
	}
	checkFound(t, store, "")
}

// execute runs statements.
func execute(t *testing.T, dsn, statements string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.PgConn().Exec(t.Context(), statements).ReadAll(); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}
