package sqlitestore_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/sqlitestore"
)

func openRegistry(tb testing.TB, cfg dibs.Config) *dibs.Registry {
	tb.Helper()
	store, err := sqlitestore.Open(context.Background(), filepath.Join(tb.TempDir(), "names.db"), sqlitestore.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	reg, err := core.Open(store, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := reg.Close(); err != nil {
			tb.Error(err)
		}
	})
	return reg
}

// stampede makes callers race for one name.
func stampede(reg *dibs.Registry, callers int, value string) (won, refused int64, failure error) {
	var (
		group       sync.WaitGroup
		start       = make(chan struct{})
		wins, takes atomic.Int64
		failed      atomic.Pointer[error]
	)
	for range callers {
		group.Go(func() {
			<-start
			_, err := reg.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: value})
			switch {
			case err == nil:
				wins.Add(1)
			case errors.Is(err, dibs.ErrNameTaken):
				takes.Add(1)
			default:
				failed.Store(&err)
			}
		})
	}
	close(start)
	group.Wait()
	if err := failed.Load(); err != nil {
		failure = *err
	}
	return wins.Load(), takes.Load(), failure
}

// Ten thousand callers race for one name: one gets it, in a few transactions.
func TestStampede(t *testing.T) {
	t.Parallel()
	const callers = 10_000
	var commits, batches atomic.Int64
	reg := openRegistry(t, dibs.Config{Observer: dibs.Observer{Batch: func(b dibs.BatchInfo) {
		commits.Add(int64(b.Commits))
		batches.Add(1)
	}}})
	won, refused, err := stampede(reg, callers, "alice-bob")
	if err != nil || won != 1 || refused != callers-1 {
		t.Fatalf("%d winners, %d refusals, %v", won, refused, err)
	}
	t.Logf("%d commits, %d batches", commits.Load(), batches.Load())
	if commits.Load() > 200 || batches.Load() > 200 {
		t.Errorf("it took %d commits in %d batches, want at most 200", commits.Load(), batches.Load())
	}
}
