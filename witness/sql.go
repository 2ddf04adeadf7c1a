package witness

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

// SQLConfig configures an [SQL].
type SQLConfig struct {
	// DB is the database. Closing the witness leaves it open.
	DB *sql.DB
	// Open opens the database if DB is nil. The first question calls it; after an error the
	// next question calls it again. Closing the witness closes the database.
	Open func() (*sql.DB, error)
	// Dialect is the database's dialect of SQL.
	Dialect Dialect

	// Query finds the entity of a hold. It has parameters like :reservationId, see
	// [Parameters], and returns the columns "type" and "id": one row, or none. It runs in a
	// read-only transaction.
	Query string
	// AbsentAfter is how long after the hold's end no row means absent: by then every save must
	// have ended and be visible to the query. Zero means never: no row means unknown.
	AbsentAfter time.Duration
	// Timeout is the time for one question. Zero means [DefaultTimeout].
	Timeout time.Duration
}

// SQL is a witness that asks a database. It is safe for concurrent use.
type SQL struct {
	config SQLConfig
	query  query

	mu     sync.Mutex
	db     *sql.DB // nil means not opened yet
	closed bool
}

var _ dibs.Witness = (*SQL)(nil).Ask

// NewSQL returns a witness that asks a database. It sends nothing before the first question.
func NewSQL(cfg SQLConfig) (*SQL, error) {
	if (cfg.DB == nil) == (cfg.Open == nil) {
		return nil, errors.New("witness: exactly one of DB and Open must be set")
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	if cfg.Timeout < 0 || cfg.AbsentAfter < 0 {
		return nil, errors.New("witness: Timeout and AbsentAfter must not be negative")
	}
	q, err := parseQuery(cfg.Query, cfg.Dialect)
	if err != nil {
		return nil, err
	}
	return &SQL{config: cfg, query: q, db: cfg.DB}, nil
}

// Ask runs the query for a hold. Every error comes with [dibs.Unknown].
func (w *SQL) Ask(ctx context.Context, hold dibs.SuspectHold) (dibs.Verdict, error) {
	db, err := w.database()
	if err != nil {
		return dibs.Unknown, err
	}
	ctx, cancel := context.WithTimeout(ctx, w.config.Timeout)
	defer cancel()
	values, missing := w.query.arguments(hold)
	found, err := w.find(ctx, db, values)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return dibs.Unknown, fmt.Errorf("the database gave no answer within %s", w.config.Timeout)
	case err != nil:
		return dibs.Unknown, err
	case !found.IsZero():
		return dibs.Exists(found), nil
	default:
		return w.noRow(hold, missing), nil
	}
}

// noRow returns the verdict if the query finds no row.
func (w *SQL) noRow(hold dibs.SuspectHold, missing string) dibs.Verdict {
	absent := hold.ExpiresAt.Add(w.config.AbsentAfter)
	switch {
	case missing != "":
		return dibs.UnknownBecause("the query found no row, but the hold has no value for :" + missing)
	case w.config.AbsentAfter == 0:
		return dibs.UnknownBecause("the query found no row, and absentAfter is not set")
	case hold.AskedAt.Before(absent):
		return dibs.UnknownBecause("the query found no row, which means absent from " + formatTime(absent))
	default:
		return dibs.Absent
	}
}

// database returns the database, and opens it if necessary.
func (w *SQL) database() (*sql.DB, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, errors.New("the witness is closed: another configuration may have replaced it")
	}
	if w.db != nil {
		return w.db, nil
	}
	db, err := w.config.Open()
	if err != nil {
		return nil, fail("the database cannot be opened", err)
	}
	w.db = db
	return db, nil
}

// Close closes the database after the questions in flight, unless it is the caller's.
func (w *SQL) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	if w.db == nil || w.config.DB != nil {
		return nil
	}
	return w.db.Close()
}

// find returns the entity that the query finds, or the zero entity.
func (w *SQL) find(ctx context.Context, db *sql.DB, values []any) (found dibs.Entity, err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return dibs.Entity{}, fail("the database cannot be asked", err)
	}
	defer func() { _ = tx.Rollback() }() // it only read
	if w.config.Dialect == PostgreSQL {
		// The database stops too, even if it does not learn that the context ended.
		limit := fmt.Sprintf("SET LOCAL statement_timeout = %d", w.config.Timeout.Milliseconds()+1)
		if _, err := tx.ExecContext(ctx, limit); err != nil {
			return dibs.Entity{}, fail("the database cannot be asked", err)
		}
	}
	rows, err := tx.QueryContext(ctx, w.query.text, values...)
	if err != nil {
		return dibs.Entity{}, fail("the query failed", err)
	}
	defer func() { _ = rows.Close() }() // Err returned the error
	found, err = readRows(rows)
	if err != nil {
		return dibs.Entity{}, err
	}
	if err := rows.Err(); err != nil {
		return dibs.Entity{}, fail("the query failed", err)
	}
	return found, nil
}

// maxRows is how many rows are read. A query for one hold should not return more.
const maxRows = 100

// readRows returns the one entity in all rows, or the zero entity without rows.
func readRows(rows *sql.Rows) (found dibs.Entity, err error) {
	columns, err := rows.Columns()
	if err != nil {
		return dibs.Entity{}, err
	}
	var kind, id sql.NullString
	var targets []any
	if len(columns) == 2 {
		switch strings.ToLower(columns[0] + " " + columns[1]) {
		case "type id":
			targets = []any{&kind, &id}
		case "id type":
			targets = []any{&id, &kind}
		}
	}
	if targets == nil {
		return dibs.Entity{}, fmt.Errorf("the query returns the columns %s, but must return type and id: SELECT 'order' AS type, id FROM …",
			strings.Join(columns, ", "))
	}
	for n := 0; rows.Next(); n++ {
		if err := rows.Scan(targets...); err != nil {
			return dibs.Entity{}, fmt.Errorf("a row could not be read: %w", err)
		}
		entity := dibs.Entity{Type: kind.String, ID: id.String}
		switch {
		case entity.Type == "" || entity.ID == "":
			return dibs.Entity{}, errors.New("the query found a row without type or id")
		case n > 0 && entity != found:
			return dibs.Entity{}, fmt.Errorf("the query found more than one entity: %s and %s", found, entity)
		case n == maxRows:
			return dibs.Entity{}, fmt.Errorf("the query found more than %d rows", maxRows)
		}
		found = entity
	}
	return found, nil
}
