package pgstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/storetest"
)

// txPerCall is a store that makes each call inside a caller's transaction, so the suite tests the
// store of WithTx. The feed is that of the store itself: cursors of a transaction are valid only
// inside it.
type txPerCall struct {
	*pgstore.Store
	pool *pgxpool.Pool
}

func (s *txPerCall) within(ctx context.Context, do func(dibs.Store) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.Ping(ctx); err != nil {
		return err // the store is closed
	}
	for {
		err := pgx.BeginFunc(context.WithoutCancel(ctx), s.pool, func(tx pgx.Tx) error { return do(pgstore.TxStore(s.Store, tx)) })
		if !errors.Is(err, dibs.ErrRetryTx) {
			return err
		}
	}
}

func (s *txPerCall) Load(ctx context.Context, refs []dibs.Ref) (found dibs.LoadResult, err error) {
	err = s.within(ctx, func(store dibs.Store) error {
		found, err = store.Load(ctx, refs)
		return err
	})
	return found, err
}

func (s *txPerCall) Commit(ctx context.Context, groups []dibs.Group) (outcomes []dibs.Outcome, err error) {
	err = s.within(ctx, func(store dibs.Store) error {
		outcomes, err = store.Commit(ctx, groups)
		return err
	})
	return outcomes, err
}

func (s *txPerCall) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	return s.within(ctx, func(store dibs.Store) error { return store.Await(ctx, refs, end) })
}

func (s *txPerCall) Due(ctx context.Context, limit int) (refs []dibs.Ref, err error) {
	err = s.within(ctx, func(store dibs.Store) error {
		refs, err = store.Due(ctx, limit)
		return err
	})
	return refs, err
}

func (s *txPerCall) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) (list []*dibs.NameRecord, err error) {
	err = s.within(ctx, func(store dibs.Store) error {
		list, err = store.Owned(ctx, scope, entity, limit)
		return err
	})
	return list, err
}

func (s *txPerCall) List(ctx context.Context, query dibs.ListQuery) (records []dibs.Record, err error) {
	err = s.within(ctx, func(store dibs.Store) error {
		records, err = store.List(ctx, query)
		return err
	})
	return records, err
}

func TestConformanceInATransaction(t *testing.T) {
	sequential(t) // but for calls that TestConformance makes too
	t.Parallel()
	dsn := withParam(t, pgtest.Shared(t).DSN("postgres"), "pool_max_conns", "4")
	s := &schemas{dsn: dsn}
	pool := must[*pgxpool.Pool](t)(pgxpool.New(context.Background(), withParam(t, dsn, "pool_max_conns", "16")))
	t.Cleanup(pool.Close)
	bind := func(store dibs.Store) dibs.Store { return &txPerCall{store.(*pgstore.Store), pool} }
	again := func(tb testing.TB, store dibs.Store, clock *storetest.Clock) dibs.Store {
		tb.Helper()
		return bind(s.again(tb, store.(*txPerCall).Store, clock))
	}
	storetest.Run(t, storetest.Harness{
		Open:   func(tb testing.TB, clock *storetest.Clock) dibs.Store { tb.Helper(); return bind(s.open(tb, clock)) },
		Reopen: again, Share: again,
		Stall: func(tb testing.TB, store dibs.Store) (<-chan struct{}, func()) {
			tb.Helper()
			return s.stall(tb, store.(*txPerCall).Store)
		},
	})
}
