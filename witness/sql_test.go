package witness_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/witness"
)

// database is a database of a user.
type database struct {
	dialect witness.Dialect
	address string
	slow    string // a condition that never ends
}

// databases returns a database of each dialect, with a table of weddings.
func databases(t *testing.T) map[string]database {
	t.Helper()
	cluster := pgtest.Shared(t)
	all := map[string]database{
		"postgres": {witness.PostgreSQL, cluster.NewDatabase(t), "pg_sleep(60) IS NULL"},
		"sqlite": {
			witness.SQLite, "sqlite:" + filepath.Join(t.TempDir(), "a b%#.db"),
			"(WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT count(*) FROM n) = 0",
		},
	}
	for _, d := range all {
		d.fill(t)
	}
	return all
}

// fill creates the table, as the user's program would.
func (d database) fill(t *testing.T) {
	t.Helper()
	var db *sql.DB
	var err error
	if path, isFile := strings.CutPrefix(d.address, "sqlite:"); isFile {
		db, err = sql.Open("sqlite", path)
	} else {
		db, err = sql.Open("pgx", d.address)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range []string{
		"CREATE TABLE weddings (id BIGINT PRIMARY KEY, reservation TEXT, epoch BIGINT, correlation TEXT)",
		"INSERT INTO weddings VALUES (42, '" + suspect().ID.String() + "', 7, 'corr_1'), (43, 'res_other', 7, 'corr_2'), (44, 'res_third', 1, 'corr_2')",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// ask opens the database as the server does, and asks once.
func (d database) ask(t *testing.T, hold dibs.SuspectHold, query string, change ...func(*witness.SQLConfig)) (dibs.Verdict, error) {
	t.Helper()
	cfg := witness.SQLConfig{
		Open: func() (*sql.DB, error) { return engine.OpenDatabase(d.address) }, Dialect: d.dialect, Query: query, AbsentAfter: 30 * time.Second,
	}
	for _, c := range change {
		c(&cfg)
	}
	w, err := witness.NewSQL(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	return w.Ask(t.Context(), hold)
}

const byReservation = "SELECT 'wedding' AS type, id FROM weddings WHERE reservation = :reservationId AND epoch = :epoch"

func TestSQLVerdicts(t *testing.T) {
	t.Parallel()
	next := suspect()
	next.Epoch = 8
	early := next
	early.AskedAt = early.ExpiresAt.Add(30*time.Second - time.Millisecond)
	unlinked := suspect()
	unlinked.Entity = dibs.Entity{}
	cases := []struct {
		name  string
		hold  dibs.SuspectHold
		query string
		want  string // the outcome, or "failed"
		says  string
	}{
		{"exists", suspect(), byReservation, "exists", ""},
		{"absent", next, byReservation, "absent", ""},
		{"not yet", early, byReservation, "unknown", "absent from 2026-03-01T12:05:30.000Z"},
		{"other case", suspect(), "SELECT id AS ID, 'wedding' AS Type FROM weddings WHERE correlation = :correlationId;", "exists", ""},
		{"a text for a number", suspect(), "SELECT :entityType AS type, id FROM weddings WHERE id = :entityId AND correlation = :correlationId", "exists", ""},
		{"the same twice", suspect(), "SELECT 'wedding' AS type, w.id AS id FROM weddings w, weddings v WHERE w.reservation = :reservationId", "exists", ""},
		{"several", suspect(), "SELECT 'wedding' AS type, id FROM weddings WHERE epoch = :epoch", "failed", "more than one entity"},
		{"no value for a parameter", unlinked, "SELECT 'wedding' AS type, id FROM weddings WHERE id = :entityId", "unknown", "the hold has no value for :entityId"},
		{"found without a value", unlinked, byReservation + " AND (id = :entityId OR epoch = 7)", "exists", ""},
		{"without id", suspect(), "SELECT 'wedding' AS type, NULL AS id FROM weddings WHERE epoch = :epoch", "failed", "without type or id"},
		{"other columns", suspect(), "SELECT id FROM weddings WHERE epoch = :epoch", "failed", "must return type and id"},
		{"more columns", suspect(), "SELECT 'wedding' AS type, id, epoch FROM weddings WHERE epoch = :epoch", "failed", "must return type and id"},
		{"no such table", suspect(), "SELECT 'wedding' AS type, id FROM funerals WHERE epoch = :epoch", "failed", "funerals"},
		{"no SQL", suspect(), "look for :key", "failed", "syntax error"},
		{"deletes", suspect(), "DELETE FROM weddings WHERE epoch = :epoch RETURNING 'wedding' AS type, id", "failed", "read"},
		{"too many rows", suspect(), "SELECT 'wedding' AS type, 1 AS id FROM weddings a, weddings b, weddings c, weddings d, weddings e WHERE a.epoch <> :epoch + 1", "failed", "more than 100 rows"},
	}
	for name, d := range databases(t) {
		for _, c := range cases {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				verdict, err := d.ask(t, c.hold, c.query)
				outcome, entity := verdict.Outcome()
				told := ""
				if err != nil {
					if outcome != "unknown" {
						t.Errorf("outcome %s with error %v", outcome, err)
					}
					outcome, told = "failed", err.Error()
				}
				if outcome != c.want || (outcome == "exists" && entity != wedding) || (outcome == "failed" && !strings.Contains(told, c.says)) {
					t.Errorf("%s %v, %v, want %s %s", outcome, entity, err, c.want, c.says)
				}
				if outcome == "unknown" && verdict == dibs.Unknown {
					t.Error("the verdict has no reason")
				}
			})
		}
		t.Run(name+"/is untouched", func(t *testing.T) {
			t.Parallel()
			if verdict, err := d.ask(t, suspect(), byReservation); verdict != dibs.Exists(wedding) {
				t.Errorf("%v, %v", verdict, err)
			}
		})
	}
}

func TestSQLTime(t *testing.T) {
	t.Parallel()
	for name, d := range databases(t) {
		verdict, err := d.ask(t, suspect(), byReservation+" AND "+d.slow, func(c *witness.SQLConfig) { c.Timeout = 100 * time.Millisecond })
		if verdict != dibs.Unknown || err == nil || !strings.Contains(err.Error(), "within 100ms") {
			t.Errorf("%s: %v, %v", name, verdict, err)
		}
		// Without AbsentAfter no row never means absent.
		late := suspect()
		late.Epoch, late.AskedAt = 8, late.AskedAt.Add(1000*time.Hour)
		verdict, err = d.ask(t, late, byReservation, func(c *witness.SQLConfig) { c.AbsentAfter = 0 })
		if outcome, _ := verdict.Outcome(); outcome != "unknown" || err != nil {
			t.Errorf("%s: %s, %v", name, outcome, err)
		}
	}
}

// Without the database the verdict is unknown.
func TestSQLWithoutDatabase(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing.db")
	for _, d := range []database{
		{dialect: witness.SQLite, address: "sqlite:" + missing},
		{dialect: witness.PostgreSQL, address: "postgres://u:hunter2@/n?host=/nonexistent"},
		{dialect: witness.PostgreSQL, address: "postgres://u:hunter2@h/n?sslmode=whatever"},
	} {
		verdict, err := d.ask(t, suspect(), byReservation)
		if verdict != dibs.Unknown || err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, %v", d.address, verdict, err)
		}
		// The short text does not say where the database is.
		shown, ok := errors.AsType[interface {
			error
			Doubt() string
		}](err)
		if !ok || strings.ContainsAny(shown.Doubt(), `/"'`) || !strings.Contains(shown.Doubt(), "the log says why") {
			t.Errorf("%s: the short text of %v", d.address, err)
		}
	}
	if found, err := filepath.Glob(missing + "*"); err != nil || found != nil {
		t.Errorf("%v was created", found)
	}
}

// A caller's own database stays open, and Open is called again after an error.
func TestSQLOpening(t *testing.T) {
	t.Parallel()
	d := databases(t)["sqlite"]
	db, err := engine.OpenDatabase(d.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	verdict, err := d.ask(t, suspect(), byReservation, func(c *witness.SQLConfig) { c.DB, c.Open = db, nil })
	if verdict != dibs.Exists(wedding) || err != nil || db.PingContext(t.Context()) != nil {
		t.Errorf("%v, %v", verdict, err)
	}
	fails := errors.New("not now")
	w, err := witness.NewSQL(witness.SQLConfig{Dialect: witness.SQLite, Query: byReservation, Open: func() (*sql.DB, error) {
		if fails != nil {
			return nil, fails
		}
		return engine.OpenDatabase(d.address)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if verdict, err := w.Ask(t.Context(), suspect()); verdict != dibs.Unknown || !errors.Is(err, fails) {
		t.Errorf("%v, %v", verdict, err)
	}
	fails = nil
	if verdict, err := w.Ask(t.Context(), suspect()); verdict != dibs.Exists(wedding) || err != nil {
		t.Errorf("%v, %v", verdict, err)
	}
	for range 2 {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	if verdict, err := w.Ask(context.Background(), suspect()); verdict != dibs.Unknown || err == nil {
		t.Errorf("after Close: %v, %v", verdict, err)
	}
	for _, cfg := range []witness.SQLConfig{
		{Query: byReservation}, {Query: byReservation, DB: db, Timeout: -1}, {Query: byReservation, DB: db, AbsentAfter: -1}, {Query: "SELECT 1", DB: db},
	} {
		if _, err := witness.NewSQL(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}
