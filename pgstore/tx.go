package pgstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
)

// WithTx returns a Registry that works inside the caller's transaction: its changes commit
// or roll back with tx. So a row and its name are always consistent, also after a crash.
//
// reg must be open on a [Store]. tx is a [pgx.Tx], or a [*sql.Tx] of the pgx driver for
// database/sql, on the same database; with anything else every verb of the Registry returns
// [dibs.ErrUnsupported].
//
// What tx has changed is locked until its end: the name, its entity, and with
// [dibs.Policy.MaxHolds] the count of the principal. Other commands for these wait, until
// their deadline; commands for other names do not. (At REPEATABLE READ and SERIALIZABLE the
// first name ever of a namespace locks the whole namespace.)
//
// At READ COMMITTED, PostgreSQL's default, a refused command changes nothing and leaves
// tx usable. At REPEATABLE READ and SERIALIZABLE a lost race is [dibs.ErrRetryTx]: roll back
// and run the whole transaction again. So are a deadlock and the caller's own lock_timeout,
// at every level; a transaction that takes several names should take them by one command. At
// SERIALIZABLE the caller's COMMIT can fail as well, with SQLSTATE 40001. A context that ends
// while a command waits for a lock ends the transaction too: pgx closes the connection.
//
// The Registry must not be used after the end of the transaction, nor by several goroutines
// at once.
func WithTx(reg *dibs.Registry, tx any) *dibs.Registry {
	return reg.InTransaction(func(store dibs.Store) (dibs.Store, error) {
		s, ok := store.(*Store)
		if !ok {
			return nil, fmt.Errorf("%w: the registry is not on PostgreSQL, so it cannot join a transaction there", dibs.ErrUnsupported)
		}
		switch tx := tx.(type) {
		case pgx.Tx:
			return &namespaceStore{newTxStore(s, pgxRunner(tx))}, nil
		case *sql.Tx:
			return &namespaceStore{newTxStore(s, sqlRunner(tx))}, nil
		default:
			return nil, fmt.Errorf("%w: WithTx takes a pgx.Tx or a *sql.Tx, not a %T", dibs.ErrUnsupported, tx)
		}
	})
}

// txStore is a [dibs.Store] inside a caller's transaction, which it neither begins nor
// commits.
type txStore struct {
	queries
	store  *Store
	runner runner
}

func newTxStore(store *Store, runner runner) *txStore {
	s := &txStore{store: store, runner: runner}
	s.queries = queries{store.sql, func(ctx context.Context, calls func() []call) error { return s.run(ctx, calls()...) }}
	return s
}

var _ dibs.Store = (*txStore)(nil)

func (s *txStore) run(ctx context.Context, calls ...call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, c := range calls {
		if err := s.runner(ctx, c); err != nil {
			return txError(err)
		}
	}
	return nil
}

// Load returns records as the transaction sees them.
func (s *txStore) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	var l loading
	if err := s.run(ctx, l.calls(s.sql, refs)...); err != nil {
		return dibs.LoadResult{}, err
	}
	s.store.stamps.see(l.stamp)
	return l.result(), nil
}

// Commit checks and writes groups as part of the transaction, all of them or none.
//
// An error would end the caller's transaction. So Commit first locks all rows that the groups
// have read, and only then writes; see lockCalls.
func (s *txStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	outcomes := make([]dibs.Outcome, len(groups))
	if len(groups) == 0 {
		return outcomes, ctx.Err()
	}
	c := s.store.newChanges()
	for i := range groups {
		if err := c.add(&groups[i]); err != nil {
			return nil, dibs.Unavailable(err)
		}
	}
	c.sort()
	current, err := s.lock(ctx, c)
	// From here on nothing is interrupted: half of the changes must not be committed.
	ctx = context.WithoutCancel(ctx)
	if err != nil {
		// A context that ends between two statements leaves the transaction usable, and the
		// caller may commit it. In a failed transaction this fails too.
		_ = s.run(ctx, c.removePlaceholders(s.sql)...)
		return nil, err
	}
	if !current {
		return outcomes, s.run(ctx, c.removePlaceholders(s.sql)...)
	}
	// The window was checked when all locks were held. A second check could fail, and an
	// error ends the caller's transaction.
	c.window = dibs.Window{}
	c.updatePlaceholders()
	c.chain()
	if err := s.run(ctx, c.calls(s.sql)...); err != nil {
		if isFenced(err) {
			return nil, s.store.moved(ctx)
		}
		return nil, err
	}
	if !s.store.cfg.NoNotify {
		// It is sent when the transaction commits.
		if err := s.run(ctx, call{text: s.sql.named("notify"), args: []any{s.store.feed.channel}}); err != nil {
			return nil, err
		}
	}
	for i := range outcomes {
		outcomes[i] = dibs.Committed
	}
	return outcomes, nil
}

// lock locks all rows that were read, and reports whether they are unchanged and the window
// contains the time.
func (s *txStore) lock(ctx context.Context, c *changes) (bool, error) {
	unchanged := true
	for _, lock := range c.lockCalls(s.sql, &unchanged) {
		if err := s.run(ctx, lock); err != nil || !unchanged {
			return false, err
		}
	}
	var now int64
	err := s.run(ctx, call{text: s.sql.named("now"), scan: scanInto(&now)})
	return c.window.Contains(dibs.Instant(now)), err
}

// Events returns events behind a cursor, including those of the transaction. These have no
// number yet: their cursors are valid in this transaction only.
func (s *txStore) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	after, err := parseCursor(query.After)
	if err != nil {
		return nil, err
	}
	var p page
	read := call{text: s.sql.named("page in tx"), args: []any{after.seq, after.ord, query.Limit}, scan: p.scan}
	if !query.Name.IsZero() {
		read.text, read.args = s.sql.named("history in tx"), append(read.args, uuid(query.Name))
	}
	if err := s.run(ctx, read); err != nil {
		return nil, err
	}
	if len(p.events) == 0 && after.seq < unnumbered {
		if err := s.run(ctx, p.headCall(s.sql)); err != nil {
			return nil, err
		}
		if after.seq > p.head {
			return nil, badCursor(query.After)
		}
	}
	return p.events, nil
}

// Latest is not supported: a transaction cannot follow the feed.
func (s *txStore) Latest(context.Context) (dibs.Cursor, error) { return "", dibs.ErrUnsupported }

// Close does nothing: the transaction belongs to the caller.
func (s *txStore) Close() error { return nil }

// namespaceStore is a txStore that commits missing namespace records at once, outside the
// caller's transaction. Inside it the first name of a namespace would lock the whole namespace,
// since every command reads the namespace record. The record may stay if the transaction is
// rolled back. A transaction with a snapshot would not see it, and writes its own.
type namespaceStore struct{ *txStore }

// Commit creates missing namespace records and then returns all groups as stale, so that they
// are decided again with these records.
func (s *namespaceStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if created, err := s.createNamespaces(ctx, groups); err != nil || created {
		return make([]dibs.Outcome, len(groups)), err
	}
	return s.txStore.Commit(ctx, groups)
}

func (s *namespaceStore) createNamespaces(ctx context.Context, groups []dibs.Group) (created bool, err error) {
	var missing []dibs.Group
	for i := range groups {
		for _, r := range groups[i].Reads {
			if r.Ref.Kind == dibs.KindNamespace && r.Rev == 0 {
				writes := slices.DeleteFunc(slices.Clone(groups[i].Writes), func(w dibs.Write) bool { return w.Record.Ref() != r.Ref })
				missing = append(missing, dibs.Group{Reads: []dibs.Read{r}, Writes: writes})
			}
		}
	}
	if len(missing) == 0 {
		return false, nil
	}
	var level string
	err = s.run(ctx, call{text: "SHOW transaction_isolation", scan: scanInto(&level)})
	if err != nil || level != "read committed" {
		return false, err
	}
	outcomes, err := s.store.Commit(ctx, missing)
	return err == nil && slices.Contains(outcomes, dibs.Committed), err
}

// An error would end the caller's transaction. So a Commit inside it first locks every row that
// the groups have read, and inserts a placeholder for every absent one; only then it writes.

// lockCalls returns the statements that lock all rows that were read. They do not fail if a row
// has changed, but clear unchanged.
func (c *changes) lockCalls(sql *statements, unchanged *bool) (calls []call) {
	add := func(rows []*row, lock func(rows []*row) call) {
		for rows := range slices.Chunk(rows, maxRows) {
			locking := lock(rows)
			locking.scan = func(row scanner) error {
				var found int
				err := row.Scan(&found)
				*unchanged = *unchanged && found == len(rows)
				return err
			}
			calls = append(calls, locking)
		}
	}
	for _, t := range c.tables() {
		add(t.share, func(rows []*row) call { return lockCall(sql, *t.table, rows, "SHARE", false) })
		add(slices.Concat(t.update, t.renew, t.remove), func(rows []*row) call { return lockCall(sql, *t.table, rows, "UPDATE", false) })
		add(t.insert, func(rows []*row) call {
			placeholders := make([]*row, len(rows))
			for i, row := range rows {
				placeholders[i] = row.placeholder()
			}
			return insertCall(sql, *t.table, placeholders, false)
		})
	}
	return calls
}

// updatePlaceholders turns inserts into updates, once the placeholders are there.
func (c *changes) updatePlaceholders() {
	for _, t := range c.tables() {
		t.update, t.insert = append(t.update, t.insert...), nil
	}
}

// removePlaceholders returns the statements that remove the placeholders.
func (c *changes) removePlaceholders(sql *statements) (calls []call) {
	for _, t := range c.tables() {
		calls = inChunks(calls, t.insert, func(rows []*row) call { return removePlaceholdersCall(sql, *t.table, rows) })
	}
	return calls
}
