package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/pgstore"
)

// A command that waits for a locked name is answered after the end of the transaction.
func TestCommandWaitsForTheTransaction(t *testing.T) {
	t.Parallel()
	at := ownSchema(t)
	for name, end := range map[string]struct {
		end  func(pgx.Tx, context.Context) error
		want error
	}{
		"commit":   {pgx.Tx.Commit, dibs.ErrNameTaken},
		"rollback": {pgx.Tx.Rollback, nil},
	} {
		t.Run(name, func(t *testing.T) {
			reg, elsewhere := registry(t, at, dibs.Config{}), registry(t, at, dibs.Config{})
			tx := lock(t, reg, at, name)
			if err := whileLocked(func() error { return reserveWithin(reg, shortDeadline, name) }); !errors.Is(err, dibs.ErrUnavailable) {
				t.Errorf("while it is locked: %v", err)
			}
			answers := make(chan error, 2)
			for _, reg := range []*dibs.Registry{reg, elsewhere} {
				go func() { answers <- reserveWithin(reg, patience, name) }()
			}
			awaitLocked(t, at)
			ended := time.Now()
			if err := end.end(tx, context.Background()); err != nil {
				t.Fatal(err)
			}
			first, second := <-answers, <-answers
			t.Logf("both answered %v after the end", time.Since(ended))
			if errors.Is(first, dibs.ErrNameTaken) && end.want == nil {
				first, second = second, first // only one of them can get it
			}
			if !errors.Is(first, end.want) || !errors.Is(second, dibs.ErrNameTaken) {
				t.Errorf("answered with %v and %v", first, second)
			}
		})
	}
}

// whileLocked asks again if the outcome is unknown: on a busy machine the deadline may come when a
// transaction was sent.
func whileLocked(ask func() error) error {
	err := ask()
	for errors.Is(err, dibs.ErrOutcomeUnknown) {
		err = ask()
	}
	return err
}

// awaitLocked returns once a session waits for a lock.
func awaitLocked(tb testing.TB, at place) {
	tb.Helper()
	observer := connect(tb, at.dsn)
	await(tb, "a session waits for a lock", func() (waits bool) {
		err := observer.QueryRow(context.Background(), `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%')`, at.schema).Scan(&waits)
		return err == nil && waits
	})
}

// The first name of a namespace creates the namespace record, on which all names rest. It does not
// lock the namespace.
func TestFirstNameLocksNoOther(t *testing.T) {
	t.Parallel()
	at := ownSchema(t)
	reg := registry(t, at, dibs.Config{})
	tx := lock(t, reg, at, "first")
	if err := reserveWithin(reg, patience, "second"); err != nil {
		t.Errorf("another name in the namespace: %v", err)
	}
	if err := tx.Rollback(context.Background()); err != nil {
		t.Error(err)
	}
	if err := reserveWithin(reg, patience, "first"); err != nil {
		t.Errorf("after the rollback: %v", err)
	}
}

// A transaction that gives an entity a name locks the entity, and no other.
func TestLockedEntity(t *testing.T) {
	t.Parallel()
	at := ownSchema(t)
	reg := registry(t, at, dibs.Config{})
	alice, bob := dibs.Entity{Type: "user", ID: "alice"}, dibs.Entity{Type: "user", ID: "bob"}
	rename := func(deadline time.Duration, entity dibs.Entity, value string) error {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		_, err := reg.Rename(ctx, dibs.Rename{Namespace: "slug", Entity: entity, Value: value})
		return err
	}
	if err := rename(patience, alice, "alice"); err != nil {
		t.Fatal(err)
	}
	tx := begin(t, at)
	if _, err := pgstore.WithTx(reg, tx).Rename(context.Background(), dibs.Rename{Namespace: "slug", Entity: alice, Value: "alicia"}); err != nil {
		t.Fatal(err)
	}
	if err := whileLocked(func() error { return rename(shortDeadline, alice, "ally") }); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("while the entity is locked: %v", err)
	}
	if err := rename(patience, bob, "bob"); err != nil {
		t.Errorf("another entity: %v", err)
	}
	if err := tx.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := rename(patience, alice, "ally"); err != nil {
		t.Errorf("after the transaction: %v", err)
	}
	feed := readFeed(t, reg)
	if feed.now["alice"].State != dibs.Alias || feed.now["alicia"].State != dibs.Alias || feed.now["ally"].State != dibs.Active {
		t.Errorf("the feed has %v", feed.now)
	}
}

// Of many concurrent callers some want locked names, which the store does not know yet. The others get
// their names while the locks last; these get theirs afterwards.
func TestLockedNamesInALargeBatch(t *testing.T) {
	t.Parallel()
	const crowd, locked = 500, 5
	at := ownSchema(t)
	reg := registry(t, at, dibs.Config{})
	names := lockedNames(locked)
	tx := lock(t, reg, at, names...)
	answers := make(chan error, locked)
	var others latencies
	each(crowd, func(i int) {
		if i%(crowd/locked) == 0 {
			go func() { answers <- reserveWithin(reg, patience, names[i/(crowd/locked)]) }()
			return
		}
		begin := time.Now()
		if err := reserveWithin(reg, patience, fmt.Sprint("free-", i)); err != nil {
			t.Errorf("a name without conflict: %v", err)
		}
		others.add(time.Since(begin))
	})
	t.Logf("%d concurrent callers; other names took %v at most; p50 %v", crowd, others.percentile(100), others.percentile(50))
	if len(answers) > 0 {
		t.Errorf("a locked name was answered with %v", <-answers)
	}
	if err := tx.Rollback(context.Background()); err != nil {
		t.Error(err)
	}
	for range locked {
		if err := <-answers; err != nil {
			t.Errorf("a name that was locked: %v", err)
		}
	}
}
