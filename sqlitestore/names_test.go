package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/nametest"
	"github.com/calldibs/dibs/sqlitestore"
	"github.com/calldibs/dibs/storetest"
)

// namesFile is one file for several registries, each with its own store.
func namesFile(tb testing.TB, cfg sqlitestore.Config) *nametest.Harness {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "names.db")
	cfg.BusyTimeout = time.Minute
	// Half of the transactions begin without the write lock, and can lose a race.
	var pools []*sql.DB
	var begun atomic.Int64
	for _, lock := range []string{"immediate", "deferred"} {
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(60000)&_txlock="+lock)
		if err != nil {
			tb.Fatal(err)
		}
		pools = append(pools, db)
	}
	closePools := func() {
		for _, db := range pools {
			if err := db.Close(); err != nil {
				tb.Error(err)
			}
		}
	}
	tb.Cleanup(closePools)
	return &nametest.Harness{
		Open: func(tb testing.TB, registry dibs.Config) *dibs.Registry {
			tb.Helper()
			store, err := sqlitestore.Open(context.Background(), path, cfg)
			if err != nil {
				tb.Fatal(err)
			}
			reg, err := core.Open(store, registry)
			if err != nil {
				tb.Fatal(err)
			}
			return reg
		},
		InTx: func(ctx context.Context, reg *dibs.Registry, work func(*dibs.Registry) error) error {
			tx, err := pools[begun.Add(1)%2].BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			if err := work(sqlitestore.WithTx(reg, tx)); err != nil {
				return errors.Join(err, tx.Rollback())
			}
			return tx.Commit()
		},
		Files: func(tb testing.TB) []string {
			tb.Helper()
			files, err := filepath.Glob(path + "*") // with the WAL
			if err != nil {
				tb.Fatal(err)
			}
			return files
		},
		Telling: []string{`names\.db-wal$`, `names\.db$`},
		Stop:    func(testing.TB) { closePools() },
	}
}

func namesPlace(tb testing.TB) *nametest.Harness {
	tb.Helper()
	return namesFile(tb, sqlitestore.Config{})
}

func TestLookAlikes(t *testing.T) {
	t.Parallel()
	nametest.LookAlikes(t, namesPlace)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	nametest.Keys(t, namesPlace)
}

func TestBlindValuesLeaveNoTrace(t *testing.T) {
	t.Parallel()
	nametest.Traces(t, func(tb testing.TB, clock *storetest.Clock) *nametest.Harness {
		tb.Helper()
		return namesFile(tb, sqlitestore.Config{Now: clock.Now})
	})
}

func TestForget(t *testing.T) {
	t.Parallel()
	nametest.Forget(t, func(tb testing.TB, clock *storetest.Clock) *nametest.Harness {
		tb.Helper()
		place := namesFile(tb, sqlitestore.Config{Now: clock.Now})
		place.Dump = func(tb testing.TB) (all []byte) {
			tb.Helper()
			files := place.Files(tb)
			store, err := sqlitestore.Open(tb.Context(), files[0], sqlitestore.Config{Now: clock.Now})
			if err != nil {
				tb.Fatal(err)
			}
			if err := errors.Join(store.Scrub(tb.Context()), store.Close()); err != nil {
				tb.Fatal(err)
			}
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					tb.Fatal(err)
				}
				all = append(all, data...)
			}
			return all
		}
		return place
	})
}
