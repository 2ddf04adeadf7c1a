package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// callersDB is the caller's pool on the file of the store.
func callersDB(t *testing.T, path string, params ...string) *sql.DB {
	t.Helper()
	db := sql.OpenDB(connector(dsn(path, Config{BusyTimeout: time.Second}, params...)))
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec("CREATE TABLE IF NOT EXISTS orders (name TEXT)"); err != nil {
		t.Fatal(err)
	}
	return db
}

func beginTx(t *testing.T, db *sql.DB) (*sql.Tx, *txStore) {
	t.Helper()
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx, newTxStore(tx, testClock)
}

func TestTxCommitsAndRollsBackWithTheCaller(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	s := openTest(t, path, Config{})
	for _, mode := range []string{"immediate", "deferred"} {
		db := callersDB(t, path, "_txlock", mode)
		for _, keep := range []bool{true, false} {
			n := heldName(mode)
			if keep {
				n = heldName(mode + "-kept")
			}
			tx, store := beginTx(t, db)
			if _, err := tx.Exec("INSERT INTO orders VALUES (?)", n.Canonical); err != nil {
				t.Fatal(err)
			}
			mustCommit(t, store, insertGroup(n))
			if len(mustLoad(t, store, n.Ref())) != 1 {
				t.Error("the transaction does not see its own name")
			}
			if len(mustLoad(t, s, n.Ref())) != 0 {
				t.Error("others see the name before the transaction commits")
			}
			// The same group again is stale.
			if outcomes, err := store.Commit(context.Background(), []dibs.Group{insertGroup(n)}); err != nil || outcomes[0] != dibs.Stale {
				t.Errorf("second insert: %v %v", outcomes, err)
			}
			if end := tx.Rollback; keep {
				end = tx.Commit
				if err := end(); err != nil {
					t.Fatal(err)
				}
			} else if err := end(); err != nil {
				t.Fatal(err)
			}
			if found := len(mustLoad(t, s, n.Ref())) == 1; found != keep {
				t.Errorf("%s, kept %v: found %v", mode, keep, found)
			}
		}
	}
}

func TestTxThatLosesTheRace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	s := openTest(t, path, Config{})
	db := callersDB(t, path)
	a, b := heldName("a"), heldName("b")

	// Another writer commits between the transaction's read and its write.
	_, store := beginTx(t, db)
	mustLoad(t, store, a.Ref())
	mustCommit(t, s, insertGroup(b))
	if _, err := store.Commit(context.Background(), []dibs.Group{insertGroup(a)}); !errors.Is(err, dibs.ErrRetryTx) {
		t.Errorf("snapshot too old: got %v, want ErrRetryTx", err)
	}

	// Another transaction has the lock.
	other, holder := beginTx(t, db)
	mustCommit(t, holder, insertGroup(a))
	_, store = beginTx(t, db)
	if _, err := store.Commit(context.Background(), []dibs.Group{insertGroup(heldName("c"))}); !errors.Is(err, dibs.ErrRetryTx) {
		t.Errorf("locked: got %v, want ErrRetryTx", err)
	}
	if err := other.Commit(); err != nil {
		t.Fatal(err)
	}
}

// A failing statement leaves no change of its group in the caller's transaction.
func TestTxKeepsNoHalfGroup(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	s := openTest(t, path, Config{})
	tx, store := beginTx(t, callersDB(t, path))
	good, bad := heldName("good"), heldName("bad")
	g := insertGroup(good)
	document := &dibs.Document{Kind: "x", ID: bad.ID, Rev: 0} // revision 0 is refused, after the name was written
	g.Reads = append(g.Reads, dibs.Read{Ref: document.Ref()})
	g.Writes = append(g.Writes, dibs.Write{Record: document})
	if _, err := store.Commit(context.Background(), []dibs.Group{g}); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("got %v, want UNAVAILABLE", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if found := mustLoad(t, s, good.Ref()); len(found) != 0 {
		t.Error("half a group was kept")
	}
}
