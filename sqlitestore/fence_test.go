package sqlitestore_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/sqlitestore"
	"github.com/calldibs/dibs/storetest"
)

func TestFence(t *testing.T) {
	t.Parallel()
	var f files
	storetest.RunFence(t, storetest.Harness{
		Open: func(tb testing.TB, clock *storetest.Clock) dibs.Store {
			return f.open(tb, filepath.Join(tb.TempDir(), "names.db"), clock)
		},
		Reopen: f.again,
		Share:  f.again,
	})
}

// A caller's transaction, and one that began before the fence, get the fence's error and stay
// usable.
func TestFenceInATransaction(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shop.db")
	reg, db := openSharedAt(t, path, "deferred", nil)
	fencing, err := sqlitestore.Open(t.Context(), path, sqlitestore.Config{Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fencing.Close() }()
	if err := fencing.Fence(t.Context(), "elsewhere"); err != nil {
		t.Fatal(err)
	}
	tx := begin(t, db)
	if _, err := tx.ExecContext(t.Context(), `INSERT INTO products (id) VALUES ('101')`); err != nil {
		t.Fatal(err)
	}
	_, err = sqlitestore.WithTx(reg, tx).Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "spring"})
	if refused, ok := errors.AsType[*dibs.Error](err); !ok || refused.Cause != record.Moved("elsewhere").Cause {
		t.Errorf("in a caller's transaction: %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Errorf("the transaction cannot be committed: %v", err)
	}
	if err := fencing.Unfence(t.Context()); err != nil {
		t.Fatal(err)
	}
	tx = begin(t, db)
	if _, err := sqlitestore.WithTx(reg, tx).Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: "spring"}); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
}
