package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/sqlitestore"
)

var product = dibs.Entity{Type: "product", ID: "101"}

// openShared returns a registry, and a pool of the caller on the same file.
func openShared(t *testing.T, txlock string) (*dibs.Registry, *sql.DB) {
	t.Helper()
	return openSharedAt(t, filepath.Join(t.TempDir(), "shop.db"), txlock, nil)
}

func openSharedAt(t *testing.T, path, txlock string, now func() time.Time) (*dibs.Registry, *sql.DB) {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Config{Shared: true, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	reg, err := core.Open(store, dibs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(60000)&_txlock="+txlock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(db.Close(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE products (id TEXT)`); err != nil {
		t.Fatal(err)
	}
	return reg, db
}

func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(context.WithoutCancel(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// Every verb joins the transaction.
func TestEveryVerbJoinsTheTransaction(t *testing.T) {
	t.Parallel()
	for _, commit := range []bool{true, false} {
		reg, db := openShared(t, "immediate")
		ctx := t.Context()
		other := dibs.Entity{Type: "product", ID: "102"}
		tx := begin(t, db)
		bound := sqlitestore.WithTx(reg, tx)
		must := func(_ any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		hold, err := bound.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "spring"})
		must(hold, err)
		must(bound.Extend(ctx, dibs.Extend{ID: hold.ID, Token: hold.Token, TTL: dibs.For(time.Hour)}))
		must(bound.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: product}))
		must(bound.Rename(ctx, dibs.Rename{Namespace: "slug", Entity: product, Value: "summer"}))
		must(bound.Claim(ctx, dibs.Claim{Namespace: "slug", Value: "autumn", Entity: other}))
		must(bound.Swap(ctx, dibs.Swap{
			Namespace: "slug", A: dibs.Named{Value: "summer", Entity: product}, B: dibs.Named{Value: "autumn", Entity: other},
		}))
		must(bound.Archive(ctx, dibs.Archive{Entity: product}))
		must(bound.Restore(ctx, dibs.Restore{Entity: product}))
		must(bound.Decommission(ctx, dibs.Decommission{Namespace: "slug", Value: "spring", Entity: product}))
		must(bound.Delete(ctx, dibs.Delete{Entity: other}))
		must(bound.Transfer(ctx, dibs.Transfer{Namespace: "slug", Value: "autumn", From: product, To: dibs.Entity{Type: "product", ID: "103"}}))
		second, err := bound.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "winter"})
		must(second, err)
		must(bound.Release(ctx, dibs.Release{ID: second.ID, Token: second.Token}))
		events, err := bound.History(ctx, "slug", "autumn")
		if err != nil || len(events) != 3 {
			t.Errorf("inside: %d events, %v", len(events), err)
		}
		want := map[string]dibs.State{"spring": dibs.Free, "summer": dibs.Free, "autumn": dibs.Active, "winter": dibs.Free}
		for value, state := range want {
			if got := coretest.StateOf(t, bound, value); got != state {
				t.Errorf("inside: %s is %s, want %s", value, got, state)
			}
			if got := coretest.StateOf(t, reg, value); got != dibs.Free {
				t.Errorf("outside, before the end: %s is %s", value, got)
			}
		}
		if commit {
			must(nil, tx.Commit())
		} else {
			must(nil, tx.Rollback())
			clear(want)
		}
		for _, value := range []string{"spring", "summer", "autumn", "winter"} {
			state, ok := want[value]
			if !ok {
				state = dibs.Free
			}
			if got := coretest.StateOf(t, reg, value); got != state {
				t.Errorf("commit %v: %s is %s, want %s", commit, value, got, state)
			}
		}
		page, err := reg.Events(ctx, dibs.FeedQuery{})
		if err != nil || (len(page.Events) > 0) != commit {
			t.Errorf("commit %v: %d events, %v", commit, len(page.Events), err)
		}
	}
}

func TestARefusalLeavesTheTransactionUsable(t *testing.T) {
	t.Parallel()
	reg, db := openShared(t, "immediate")
	ctx := t.Context()
	if _, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "spring"}); err != nil {
		t.Fatal(err)
	}
	tx := begin(t, db)
	bound := sqlitestore.WithTx(reg, tx)
	_, err := bound.Claim(ctx, dibs.Claim{Namespace: "slug", Value: "spring", Entity: product})
	refused, ok := errors.AsType[*dibs.Error](err)
	if !ok || refused.Code != dibs.CodeNameTaken || len(refused.Suggestions) == 0 {
		t.Fatalf("got %v", err)
	}
	if _, err := bound.Claim(ctx, dibs.Claim{Namespace: "slug", Value: refused.Suggestions[0], Entity: product}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := coretest.StateOf(t, reg, refused.Suggestions[0]); got != dibs.Active {
		t.Errorf("the second choice is %s", got)
	}
}

// A transaction that began with a read, and whose snapshot is out of date, cannot write.
func TestDeferredTransactionThatLosesTheRace(t *testing.T) {
	t.Parallel()
	reg, db := openShared(t, "deferred")
	ctx := t.Context()
	claim := dibs.Claim{Namespace: "slug", Value: "spring", Entity: product}

	tx := begin(t, db)
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM products`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if _, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "other"}); err != nil {
		t.Fatal(err)
	}
	_, err := sqlitestore.WithTx(reg, tx).Claim(ctx, claim)
	if !errors.Is(err, dibs.ErrRetryTx) || errors.Is(err, dibs.ErrOutcomeUnknown) {
		t.Fatalf("got %v, want ErrRetryTx", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	tx = begin(t, db)
	if _, err := sqlitestore.WithTx(reg, tx).Claim(ctx, claim); err != nil {
		t.Fatalf("the second time: %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatATransactionCannotDo(t *testing.T) {
	t.Parallel()
	reg, db := openShared(t, "immediate")
	ctx := t.Context()
	tx := begin(t, db)
	bound := sqlitestore.WithTx(reg, tx)
	coretest.CheckUnsupportedInTx(t, bound)

	bound = sqlitestore.WithTx(coretest.MustOpen(t, memstore.New(memstore.Config{}), dibs.Config{}), tx)
	if _, err := bound.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "spring"}); !errors.Is(err, dibs.ErrUnsupported) {
		t.Errorf("a registry on another engine: %v", err)
	}
}

// SQLite rolls a transaction back by itself when the disk is full. Later changes of the caller must not
// be committed on their own.
func TestTransactionThatSQLiteRolledBack(t *testing.T) {
	t.Parallel()
	reg, db := openShared(t, "immediate")
	db.SetMaxOpenConns(1)
	ctx := t.Context()
	var pages int
	if err := db.QueryRowContext(ctx, `PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(to int) string { return fmt.Sprintf("PRAGMA max_page_count = %d", to) }
	if _, err := db.ExecContext(ctx, limit(pages)); err != nil {
		t.Fatal(err)
	}
	tx := begin(t, db)
	if _, err := tx.ExecContext(ctx, `INSERT INTO products VALUES ('101')`); err != nil {
		t.Fatal(err)
	}
	bound := sqlitestore.WithTx(reg, tx)
	full := func(i int) error {
		_, err := bound.Claim(ctx, dibs.Claim{
			Namespace: "slug", Value: fmt.Sprint(i, strings.Repeat("x", 1000)), Entity: dibs.Entity{Type: "product", ID: fmt.Sprint(i)},
		})
		return err
	}
	var err error
	for i := 0; err == nil && i < 100; i++ {
		err = full(i)
	}
	if !errors.Is(err, dibs.ErrRetryTx) {
		t.Fatalf("on a full disk: %v, want ErrRetryTx", err)
	}
	if _, err := tx.ExecContext(ctx, limit(1<<30)); err != nil {
		t.Fatal(err)
	}
	if _, err := bound.Claim(ctx, dibs.Claim{Namespace: "slug", Value: "spring", Entity: product}); !errors.Is(err, dibs.ErrRetryTx) {
		t.Errorf("after the rollback: %v, want ErrRetryTx", err)
	}
	_ = tx.Rollback()
	if got := coretest.StateOf(t, reg, "spring"); got != dibs.Free {
		t.Errorf("the name is %s, without its product", got)
	}
}

// Refusals stay counted, also if they are read in a transaction that is rolled back.
func TestConflictsSurviveARollback(t *testing.T) {
	t.Parallel()
	reg, db := openShared(t, "immediate")
	ctx := t.Context()
	if _, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: ""}); err == nil {
		t.Fatal("not refused")
	}
	tx := begin(t, db)
	if _, err := sqlitestore.WithTx(reg, tx).Conflicts(ctx, dibs.ConflictsQuery{}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	buckets, err := reg.Conflicts(ctx, dibs.ConflictsQuery{})
	if err != nil || len(buckets) != 1 || buckets[0].Count != 1 {
		t.Errorf("%+v, %v", buckets, err)
	}
}

func TestATransactionOnAnotherFile(t *testing.T) {
	t.Parallel()
	reg, _ := openShared(t, "immediate")
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "other.db")+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = sqlitestore.WithTx(reg, begin(t, db)).Claim(t.Context(), dibs.Claim{Namespace: "slug", Value: "spring", Entity: product})
	if !errors.Is(err, dibs.ErrUnsupported) {
		t.Errorf("got %v, want ErrUnsupported", err)
	}
}
