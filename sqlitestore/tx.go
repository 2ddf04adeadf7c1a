package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
)

// WithTx returns a Registry that works inside the caller's transaction: its changes commit
// or roll back with tx. So a row and its name are always consistent, also after a crash.
//
// reg must be open on a [Store]; tx must be a transaction of modernc.org/sqlite on the same
// file, which the Store shares with the caller's tables (Config.Shared). A transaction on a
// file without the tables of Dibs is refused. One on another file of Dibs is not detected,
// and writes there.
//
// Begin tx IMMEDIATE, with _txlock=immediate in the DSN: a transaction that begins with a read
// can lose a race later on, and then gets [dibs.ErrRetryTx]. A refused command changes nothing
// and leaves the transaction usable.
//
// The Registry must not be used after the end of the transaction, nor by several goroutines
// at once.
func WithTx(reg *dibs.Registry, tx *sql.Tx) *dibs.Registry {
	return reg.InTransaction(func(store dibs.Store) (dibs.Store, error) {
		s, ok := store.(*Store)
		if !ok {
			return nil, fmt.Errorf("%w: the registry is not on SQLite, so it cannot join a transaction there", dibs.ErrUnsupported)
		}
		return newTxStore(tx, s.now), nil
	})
}

// txStore is a [dibs.Store] inside a caller's transaction, which it neither begins nor
// commits.
type txStore struct {
	queries
	run txRunner
}

var _ dibs.Store = (*txStore)(nil)

func newTxStore(tx *sql.Tx, now func() time.Time) *txStore {
	s := &txStore{run: txRunner{tx}}
	s.queries = queries{now, func(ctx context.Context, fn func(runner) error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return txError(fn(s.run))
	}}
	return s
}

// txRunner runs statements in the caller's transaction. It prepares nothing: the transaction
// is short, and the connection belongs to the caller.
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

// Load returns records as the transaction sees them.
func (s *txStore) Load(ctx context.Context, refs []dibs.Ref) (found dibs.LoadResult, err error) {
	err = s.read(ctx, func(run runner) error {
		found.Records, err = loadRefs(ctx, run, refs, false)
		found.Now = s.instant()
		return err
	})
	return found, err
}

var (
	// takeLock takes the write lock and changes nothing. It fails if the transaction began
	// without the lock and another one has written since.
	takeLock = newStatement(`DELETE FROM dibs_schema WHERE version < 0`)

	savepoint  = newStatement(`SAVEPOINT dibs_commit`)
	release    = newStatement(`RELEASE dibs_commit`)
	rollbackTo = newStatement(`ROLLBACK TO dibs_commit`)
)

// Commit checks and writes groups as part of the transaction. After an error the transaction
// is as it was before the call, or the error says that SQLite has rolled it back.
func (s *txStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	// When the disk is full, for example, SQLite rolls a transaction back, and database/sql does
	// not notice: later statements would be committed one by one. In a transaction BEGIN fails.
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
	outcomes, _, err := apply(ctx, s.run, s.instant, groups, nil)
	if err != nil {
		if s.run.exec(ctx, rollbackTo) != nil || s.run.exec(ctx, release) != nil {
			return nil, fmt.Errorf("%w: %w", errTxOver, err)
		}
		return nil, txError(asMoved(ctx, s.run, err))
	}
	if err := s.run.exec(ctx, release); err != nil {
		return nil, txError(err)
	}
	return outcomes, nil
}

// Latest is not supported: a transaction cannot follow the feed.
func (s *txStore) Latest(context.Context) (dibs.Cursor, error) { return "", dibs.ErrUnsupported }

// Close does nothing: the transaction belongs to the caller.
func (s *txStore) Close() error { return nil }
