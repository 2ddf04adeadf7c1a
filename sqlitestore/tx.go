package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
)

// WithTx returns a Registry that works inside a transaction of the caller's own:
// what it does commits or rolls back with tx. So a row and its name come and go
// together, and after a crash there is nothing to find out.
//
// reg must be open on a [Store]; tx must be a transaction of modernc.org/sqlite on
// the same file, which the Store shares with the caller's tables (Config.Shared). A
// transaction on a file without the tables of Dibs is refused; one on another file
// of Dibs cannot be told apart, and writes there.
// Begin it IMMEDIATE, with _txlock=immediate in the DSN: one that begins by reading
// can lose a race later on, and then gets [dibs.ErrRetryTx]. A refused command
// changes nothing and leaves the transaction usable.
//
// The Registry must not be used after the transaction's end, nor by several
// goroutines at once.
func WithTx(reg *dibs.Registry, tx *sql.Tx) *dibs.Registry {
	return reg.InTransaction(func(store dibs.Store) (dibs.Store, error) {
		s, ok := store.(*Store)
		if !ok {
			return nil, fmt.Errorf("%w: the registry is not on SQLite, so it cannot join a transaction there", dibs.ErrUnsupported)
		}
		return newTxStore(tx, s.now), nil
	})
}

// txStore is a [dibs.Store] inside a transaction of the caller's, on a connection
// of modernc.org/sqlite to the same file. It begins and commits nothing: what it
// writes becomes true, or not, with that transaction.
type txStore struct {
	run txRunner
	now func() time.Time
}

var _ dibs.Store = (*txStore)(nil)

func newTxStore(tx *sql.Tx, now func() time.Time) *txStore {
	return &txStore{txRunner{tx}, now}
}

// txRunner runs statements in the caller's transaction. It prepares nothing: the
// transaction is short, and the connection not ours.
type txRunner struct{ tx *sql.Tx }

func (r txRunner) query(ctx context.Context, st *statement, args []any, fn func(row []driver.Value) error) error {
	rows, err := r.tx.QueryContext(ctx, st.text(), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, dest := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		dest[i] = &values[i]
	}
	row := make([]driver.Value, len(columns))
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		for i, v := range values {
			row[i] = v
		}
		if err := fn(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (r txRunner) exec(ctx context.Context, st *statement, args ...any) error {
	_, err := r.tx.ExecContext(ctx, st.text(), args...)
	return err
}

func (s *txStore) instant() dibs.Instant { return dibs.InstantOf(s.now()) }

// Load returns records as the transaction sees them.
func (s *txStore) Load(ctx context.Context, refs []dibs.Ref) (dibs.Snapshots, error) {
	if err := ctx.Err(); err != nil {
		return dibs.Snapshots{}, err
	}
	records, err := loadRefs(ctx, s.run, refs, false)
	if err != nil {
		return dibs.Snapshots{}, txError(err)
	}
	return dibs.Snapshots{Now: s.instant(), Records: records}, nil
}

var (
	// takeLock changes nothing, but SQLite takes the write lock for it. If the
	// transaction began without it and another writer was faster, it fails here.
	takeLock = newStatement(`DELETE FROM dibs_schema WHERE version < 0`)

	savepoint  = newStatement(`SAVEPOINT dibs_commit`)
	release    = newStatement(`RELEASE dibs_commit`)
	rollbackTo = newStatement(`ROLLBACK TO dibs_commit`)
)

// Commit checks and writes groups as part of the transaction. After an error the
// transaction is as it was before the call; or SQLite has rolled it back, and the
// error says so.
func (s *txStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	// SQLite rolls a transaction back by itself when the disk is full, say, and
	// database/sql does not notice: what came then would be committed on its own.
	// So it must not be possible to begin one.
	if s.run.exec(ctx, beginRead) == nil {
		_ = s.run.exec(ctx, rollbackTx)
		return nil, errTxOver
	}
	if err := s.run.exec(ctx, takeLock); err != nil {
		return nil, txError(err)
	}
	if err := s.run.exec(ctx, savepoint); err != nil {
		return nil, txError(err)
	}
	outcomes, _, err := apply(ctx, s.run, s.instant, groups)
	if err != nil {
		if s.run.exec(ctx, rollbackTo) != nil || s.run.exec(ctx, release) != nil {
			return nil, fmt.Errorf("%w: %w", errTxOver, err)
		}
		return nil, txError(err)
	}
	if err := s.run.exec(ctx, release); err != nil {
		return nil, txError(err)
	}
	return outcomes, nil
}

// Due returns refs of records that are due.
func (s *txStore) Due(ctx context.Context, limit int) (refs []dibs.Ref, err error) {
	err = s.read(ctx, func() error {
		refs, err = due(ctx, s.run, s.instant(), limit)
		return err
	})
	return refs, err
}

// Owned returns an entity's active names and aliases.
func (s *txStore) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) (list []*dibs.NameRecord, err error) {
	err = s.read(ctx, func() error {
		list, err = owned(ctx, s.run, scope, entity, limit)
		return err
	})
	return list, err
}

// List returns records of one kind.
func (s *txStore) List(ctx context.Context, query dibs.ListQuery) (records []dibs.Record, err error) {
	err = s.read(ctx, func() error {
		records, err = list(ctx, s.run, query)
		return err
	})
	return records, err
}

// Events returns events behind a cursor, the transaction's own among them.
func (s *txStore) Events(ctx context.Context, query dibs.EventQuery) (found []dibs.Event, err error) {
	err = s.read(ctx, func() error {
		found, err = readEvents(ctx, s.run, query)
		return err
	})
	return found, err
}

// Latest is for those who follow the feed, which nobody can inside a transaction.
func (s *txStore) Latest(context.Context) (dibs.Cursor, error) { return "", dibs.ErrUnsupported }

func (s *txStore) read(ctx context.Context, fn func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return txError(fn())
}

// Close does nothing: the transaction is the caller's.
func (s *txStore) Close() error { return nil }
