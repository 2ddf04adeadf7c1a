package sqlitestore

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/calldibs/dibs/internal/core"

	"github.com/calldibs/dibs"
)

var recountNames = newStatement(`SELECT count(*) FROM (
	SELECT namespace, state, count(*) FROM dibs_names WHERE state <> 'free' GROUP BY 1, 2
	EXCEPT SELECT namespace, state, names FROM dibs_counts)`)

// The stored counts are those of the rows, after every command, and after a transaction of a caller
// that was rolled back.
func TestCountsAreThoseOfTheRows(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "names.db")
	s := openTest(t, path, Config{})
	reg, err := core.Open(s, dibs.Config{Policies: map[string]dibs.Policy{"slug": {}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reg.Close() })
	owner := func(i int) dibs.Entity { return dibs.Entity{Type: "user", ID: fmt.Sprint(i)} }
	for i := range 20 {
		value := fmt.Sprint("name-", i)
		hold, err := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: value})
		if err == nil && i%5 > 0 {
			_, err = reg.Confirm(ctx, dibs.Confirm{ID: hold.ID, Token: hold.Token, Entity: owner(i)})
		}
		if err == nil && i%5 > 1 {
			_, err = reg.Rename(ctx, dibs.Rename{Namespace: "slug", Value: value + "-new", Entity: owner(i)})
		}
		if err == nil && i%5 > 2 {
			_, err = reg.Delete(ctx, dibs.Delete{Entity: owner(i)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db := callersDB(t, path, "_txlock", "immediate")
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = WithTx(reg, tx).Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: "undone"})
	if err := errors.Join(err, tx.Rollback()); err != nil {
		t.Fatal(err)
	}
	stats, err := s.Count(ctx, testNow.Add(1<<40))
	if err != nil || len(stats.Names) < 3 || stats.EndingSoon != 4 {
		t.Errorf("%+v, %v", stats, err)
	}
	err = s.read(ctx, func(run runner) error {
		if wrong, err := readInt(ctx, run, recountNames); err != nil || wrong != 0 {
			t.Errorf("%d counts are wrong, %v: %+v", wrong, err, stats)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
