package pgstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
)

// WithTx returns a Registry that works inside a transaction of the caller's own:
// what it does commits or rolls back with tx. So a row and its name come and go
// together, and after a crash there is nothing to find out.
//
// reg must be open on a [Store]. tx is a [pgx.Tx], or a [*sql.Tx] of pgx's driver
// for database/sql, on the same database; with anything else every verb of the
// Registry returns [dibs.ErrUnsupported].
//
// What tx has changed is locked until its end: the name, its entity, and where there
// is a [dibs.Policy.MaxHolds] the principal's count. Others who want the same wait, or
// give up at their deadline; whoever wants another name does not notice. (At
// REPEATABLE READ and SERIALIZABLE the first name that a namespace ever has locks all
// of it.)
//
// At READ COMMITTED, PostgreSQL's default, a refused command changes nothing and leaves
// tx usable. At REPEATABLE READ and SERIALIZABLE a race that is lost is
// [dibs.ErrRetryTx]: roll back and run the whole transaction again. So are a deadlock
// and the end of a lock_timeout of the caller's, at every level; transactions that take
// several names do best to take them by one command. At SERIALIZABLE the caller's own
// COMMIT can fail as well, with SQLSTATE 40001. A context that ends while a command
// waits for a lock ends the transaction too: pgx closes the connection.
//
// The Registry must not be used after the transaction's end, nor by several
// goroutines at once.
func WithTx(reg *dibs.Registry, tx any) *dibs.Registry {
	return reg.InTransaction(func(store dibs.Store) (dibs.Store, error) {
		s, ok := store.(*Store)
		if !ok {
			return nil, fmt.Errorf("%w: the registry is not on PostgreSQL, so it cannot join a transaction there", dibs.ErrUnsupported)
		}
		switch tx := tx.(type) {
		case pgx.Tx:
			return &flooredStore{&txStore{s, pgxRunner{tx}}}, nil
		case *sql.Tx:
			return &flooredStore{&txStore{s, sqlRunner{tx}}}, nil
		default:
			return nil, fmt.Errorf("%w: WithTx takes a pgx.Tx or a *sql.Tx, and was given a %T", dibs.ErrUnsupported, tx)
		}
	})
}

// txStore is a [dibs.Store] inside a transaction of the caller's. It begins and
// commits nothing: what it writes becomes true, or not, with that transaction.
type txStore struct {
	store  *Store
	runner runner
}

var _ dibs.Store = (*txStore)(nil)

func (s *txStore) run(ctx context.Context, calls ...call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, c := range calls {
		if err := s.runner.run(ctx, c); err != nil {
			return txError(err)
		}
	}
	return nil
}

// Load returns records as the transaction sees them.
func (s *txStore) Load(ctx context.Context, refs []dibs.Ref) (dibs.Snapshots, error) {
	var l loading
	if err := s.run(ctx, l.calls(s.store.sql, refs)...); err != nil {
		return dibs.Snapshots{}, err
	}
	s.store.stamps.see(l.stamp)
	return l.snapshots(), nil
}

// Commit checks and writes groups as part of the transaction, all of them or none.
//
// An error would end the caller's transaction, and there is no savepoint to go back
// to: so everything is made certain first. What is absent gets a row that keeps its
// place, what is present is locked; then nobody else can change any of it, and only
// then it is written.
func (s *txStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	outcomes := make([]dibs.Outcome, len(groups))
	if len(groups) == 0 {
		return outcomes, ctx.Err()
	}
	c := newChanges(s.store.batches.next(), s.store.stamps.next())
	for i := range groups {
		if err := c.add(&groups[i]); err != nil {
			return nil, dibs.Unavailable(err)
		}
	}
	c.sort()
	fresh, err := s.secure(ctx, c)
	// From here on nothing is interrupted: half of it must not be committed.
	ctx = context.WithoutCancel(ctx)
	if err != nil {
		// A context that ends between two statements leaves the transaction usable, and
		// the caller may commit it. Where the transaction has failed this does too.
		_ = s.run(ctx, c.clearing(s.store.sql)...)
		return nil, err
	}
	if !fresh {
		return outcomes, s.run(ctx, c.clearing(s.store.sql)...)
	}
	// The window was checked when everything was certain. Checking it again with the
	// batch could fail, and an error ends the caller's transaction.
	c.window = dibs.Window{}
	c.occupied()
	c.chain()
	if err := s.run(ctx, c.calls(s.store.sql)...); err != nil {
		return nil, err
	}
	if !s.store.cfg.NoNotify {
		// It is sent when the transaction commits.
		if err := s.run(ctx, call{text: s.store.sql.feed.notify, args: []any{s.store.feed.channel}}); err != nil {
			return nil, err
		}
	}
	for i := range outcomes {
		outcomes[i] = dibs.Committed
	}
	return outcomes, nil
}

// secure takes all that the changes rest on, and reports whether it is as it was
// read, and the time right.
func (s *txStore) secure(ctx context.Context, c *changes) (bool, error) {
	sql := s.store.sql
	for _, lock := range c.locking(sql) {
		var found int64
		lock.scan = func(row scanner) error { return row.Scan(&found) }
		if err := s.run(ctx, lock.call); err != nil {
			return false, err
		}
		if found != int64(lock.want) {
			return false, nil
		}
	}
	var now int64
	err := s.run(ctx, call{text: sql.now, scan: func(row scanner) error { return row.Scan(&now) }})
	return c.window.Contains(dibs.Instant(now)), err
}

// Due returns refs of records that are due.
func (s *txStore) Due(ctx context.Context, limit int) (refs []dibs.Ref, err error) {
	return refs, s.run(ctx, dueCall(s.store.sql, limit, &refs))
}

// Owned returns an entity's active names and aliases.
func (s *txStore) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) (list []*dibs.NameRecord, err error) {
	err = s.run(ctx, ownedCall(s.store.sql, scope, entity, limit, &list))
	return list, err
}

// List returns records of one kind.
func (s *txStore) List(ctx context.Context, query dibs.ListQuery) (records []dibs.Record, err error) {
	err = s.run(ctx, listCall(s.store.sql, query, &records))
	return records, err
}

// Events returns events behind a cursor, the transaction's own among them. Those
// have no number yet: their cursors are good in this transaction only.
func (s *txStore) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	after, err := parseCursor(query.After)
	if err != nil {
		return nil, err
	}
	var p page
	look := call{text: s.store.sql.feed.whole, args: []any{after.seq, after.ord, query.Limit}, scan: p.scan}
	if !query.Name.IsZero() {
		look.text, look.args = s.store.sql.feed.historyWithOwn, append(look.args, uuid(query.Name))
	}
	if err := s.run(ctx, look); err != nil {
		return nil, err
	}
	if len(p.events) == 0 && after.seq < unnumbered {
		if err := s.run(ctx, p.headCall(s.store.sql)); err != nil {
			return nil, err
		}
		if after.seq > p.head {
			return nil, badCursor(query.After)
		}
	}
	return p.events, nil
}

// Latest is for those who follow the feed, which nobody can inside a transaction.
func (s *txStore) Latest(context.Context) (dibs.Cursor, error) { return "", dibs.ErrUnsupported }

// Close does nothing: the transaction is the caller's.
func (s *txStore) Close() error { return nil }
