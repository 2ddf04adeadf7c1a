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

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/nametest"
	"github.com/calldibs/dibs/sqlitestore"
	"github.com/calldibs/dibs/storetest"
)

// namesFile is one file for several registries, each with its own store.
func namesFile(tb testing.TB, clock *storetest.Clock) *nametest.Harness {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "names.db")
	cfg := sqlitestore.Config{BusyTimeout: time.Minute}
	if clock != nil {
		cfg.Now = clock.Now
	}
	openStore := func(tb testing.TB) dibs.Store {
		tb.Helper()
		store, err := sqlitestore.Open(context.Background(), path, cfg)
		if err != nil {
			tb.Fatal(err)
		}
		return store
	}
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
	files := func(tb testing.TB) []string {
		tb.Helper()
		paths, err := filepath.Glob(path + "*") // with the WAL
		if err != nil {
			tb.Fatal(err)
		}
		return paths
	}
	return &nametest.Harness{
		Open: openStore,
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
		Files: files,
		Dump: func(tb testing.TB) (all []byte) {
			tb.Helper()
			store := openStore(tb)
			if err := errors.Join(store.(dibs.Scrubber).Scrub(tb.Context()), store.Close()); err != nil {
				tb.Fatal(err)
			}
			for _, file := range files(tb) {
				data, err := os.ReadFile(file)
				if err != nil {
					tb.Fatal(err)
				}
				all = append(all, data...)
			}
			return all
		},
		Telling: []string{`names\.db-wal$`, `names\.db$`},
		Stop:    func(testing.TB) { closePools() },
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	nametest.Run(t, namesFile)
}

func TestBlindValuesLeaveNoTrace(t *testing.T) {
	t.Parallel()
	nametest.Traces(t, namesFile)
}
