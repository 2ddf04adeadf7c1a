package server

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/sqlitestore"
)

// engine opens a store for a test.
type engine struct {
	name string
	open func(testing.TB) dibs.Store
}

var (
	inMemory   = engine{"memory", func(testing.TB) dibs.Store { return memstore.New(memstore.Config{}) }}
	onSQLite   = engine{"sqlite", openSQLite}
	onPostgres = engine{"postgres", openPostgres}
)

// engines are the durable engines.
func engines() []engine { return []engine{onSQLite, onPostgres} }

func openSQLite(tb testing.TB) dibs.Store {
	tb.Helper()
	store, err := sqlitestore.Open(context.Background(), filepath.Join(tb.TempDir(), "names.db"), sqlitestore.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return store
}

func openPostgres(tb testing.TB) dibs.Store {
	tb.Helper()
	cluster := pgtest.Shared(tb)
	store, err := pgstore.Open(context.Background(), cluster.DSN("postgres"), pgstore.Config{Schema: cluster.NewSchema(tb)})
	if err != nil {
		tb.Fatal(err)
	}
	return store
}

// Modes of a failing store.
const (
	works int32 = iota
	outOfReach
	losesAnswers
	listsNothing
)

var errStrange = errors.New("a strange error with insides")

// failing is a store that fails on demand.
type failing struct {
	dibs.Store
	mode atomic.Int32
}

func (f *failing) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	if f.mode.Load() == outOfReach {
		return dibs.LoadResult{}, dibs.Unavailable(context.DeadlineExceeded)
	}
	return f.Store.Load(ctx, refs)
}

func (f *failing) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	if f.mode.Load() == outOfReach {
		return nil, dibs.Unavailable(context.DeadlineExceeded)
	}
	return f.Store.Events(ctx, query)
}

func (f *failing) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	if f.mode.Load() == listsNothing {
		return nil, errStrange
	}
	return f.Store.List(ctx, query)
}

func (f *failing) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	switch f.mode.Load() {
	case outOfReach:
		return nil, dibs.Unavailable(context.DeadlineExceeded)
	case losesAnswers:
		if _, err := f.Store.Commit(ctx, groups); err != nil {
			return nil, err
		}
		return nil, dibs.OutcomeUnknown(context.DeadlineExceeded)
	default:
		return f.Store.Commit(ctx, groups)
	}
}
