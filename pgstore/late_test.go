package pgstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgproxy"
	"github.com/calldibs/dibs/pgstore"
)

// commitAside runs a Commit in the background.
func (r *rig) commitAside(groups []dibs.Group) (wait func() ([]dibs.Outcome, error)) {
	var (
		outcomes []dibs.Outcome
		err      error
		done     = make(chan struct{})
	)
	go func() {
		defer close(done)
		outcomes, err = r.store.Commit(context.Background(), groups)
	}()
	return func() ([]dibs.Outcome, error) {
		<-done
		return outcomes, err
	}
}

// holding begins a transaction around the proxy and runs a statement in it.
func (r *rig) holding(sql string, args ...any) pgx.Tx {
	r.Helper()
	conn, err := pgx.ConnectConfig(context.Background(), r.direct.Config())
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(context.Background())
	if err != nil {
		r.Fatal(err)
	}
	if _, err := tx.Exec(context.Background(), sql, args...); err != nil {
		r.Fatal(err)
	}
	return tx
}

func (r *rig) end(tx pgx.Tx) {
	r.Helper()
	if err := tx.Rollback(context.Background()); err != nil {
		r.Fatal(err)
	}
}

// waiting counts the sessions of this rig that wait for a lock.
func (r *rig) waiting() int {
	r.Helper()
	return ask[int](r, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'", r.sessions())
}

// A network may deliver a request after it was given up. Its batch is void by then.
func TestLateCommitIsVoid(t *testing.T) {
	t.Parallel()
	schema := schemaFor(t)
	for _, name := range scenarioNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rigOn(t, schema).open(pgstore.Config{Timeout: 3 * time.Second})
			s := r.play(newScenario(name, name))
			deliver := make(chan struct{})
			r.proxy.SetHook(pgproxy.Once(commits, pgproxy.Stall(deliver)))
			outcomes, err := r.store.Commit(context.Background(), s.groups)
			if !errors.Is(err, dibs.ErrUnavailable) {
				t.Fatalf("outcomes %v, %v, want UNAVAILABLE", outcomes, err)
			}
			r.proxy.SetHook(nil)
			close(deliver)
			r.leave()
			r.open(pgstore.Config{})
			r.compare(s.groups, outcomes, err)
			r.mustCommit(s.groups...)
		})
	}
}

// A transaction waits for a lock when its connection is cut, and the server has its COMMIT. The store
// makes it void and repeats it. When the lock is free, the first attempt fails at its batch.
func TestVoidTransactionCannotCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t).open(pgstore.Config{LockWait: 10 * time.Second})
	s := r.play(newScenario("mixed", "a"))
	lock := r.holding("SELECT FROM " + r.table("dibs_entities") + " FOR UPDATE")
	tries := counting(commits, pgproxy.Once(commits, pgproxy.CutDuring(100)))
	r.proxy.SetHook(tries.hook)
	wait := r.commitAside(s.groups)
	r.await("both attempts wait for the lock", func() bool { return r.waiting() == 2 })
	if r.voids() != 1 {
		t.Errorf("%d batches are void, want that of the first attempt", r.voids())
	}
	r.end(lock)
	outcomes, err := wait()
	if err != nil {
		t.Fatal(err)
	}
	r.compare(s.groups, outcomes, nil)
	if tries.count() != 2 {
		t.Errorf("%d transactions, want 2", tries.count())
	}
}

// A transaction has written its batch when it must wait, so it may still commit. The question for its
// outcome waits for it, and finds that it has committed.
func TestOutcomeWaitsForTheTransaction(t *testing.T) {
	t.Parallel()
	r := newRig(t).open(pgstore.Config{LockWait: 10 * time.Second})
	s := r.play(newScenario("mixed", "a"))
	// The last statement before the COMMIT reserves this name.
	lock := r.holding(`INSERT INTO `+r.table("dibs_name_rows")+` (id, rev, stamp, many, state, namespace, canonical, detail)
		VALUES ($1, 0, 1, false, 'free', 'slug', 'a-reserved', E'\t\treleased')`, [16]byte(dibs.NameID("slug", "a-reserved")))
	ask := make(chan struct{})
	tries := counting(commits, pgproxy.Once(commits, pgproxy.CutDuring(100)))
	r.proxy.SetHook(func(x *pgproxy.Exchange) pgproxy.Action {
		if asksOutcome(x) {
			return pgproxy.Stall(ask)
		}
		return tries.hook(x)
	})
	wait := r.commitAside(s.groups)
	r.await("the transaction waits", func() bool { return r.waiting() == 1 })
	close(ask)
	r.await("the question for its outcome waits too", func() bool { return r.waiting() == 2 })
	r.end(lock)
	outcomes, err := wait()
	if err != nil {
		t.Fatal(err)
	}
	r.compare(s.groups, outcomes, nil)
	if tries.count() != 1 || r.voids() != 0 {
		t.Errorf("%d transactions, %d void; want one that has committed", tries.count(), r.voids())
	}
}

// After an operator has ended a session, the store asks for the outcome of its transaction.
func TestTerminatedSession(t *testing.T) {
	t.Parallel()
	r := newRig(t).open(pgstore.Config{LockWait: 10 * time.Second})
	s := r.play(newScenario("mixed", "a"))
	lock := r.holding("SELECT FROM " + r.table("dibs_entities") + " FOR UPDATE")
	asked := counting(asksOutcome, nil)
	r.proxy.SetHook(asked.hook)
	wait := r.commitAside(s.groups)
	r.await("the transaction waits", func() bool { return r.waiting() == 1 })
	ask[bool](r, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'", r.sessions())
	r.await("it is void", func() bool { return r.voids() == 1 })
	r.end(lock)
	outcomes, err := wait()
	if err != nil {
		t.Fatal(err)
	}
	r.compare(s.groups, outcomes, nil)
	if asked.count() == 0 {
		t.Error("the store did not ask for the outcome")
	}
}

// If every connection of the pool is dead, no call fails.
func TestAllConnectionsDead(t *testing.T) {
	t.Parallel()
	r := newRig(t).open(pgstore.Config{Writers: 4})
	for _, call := range []struct {
		name string
		do   func() error
	}{
		{"Load", func() error { _, err := r.store.Load(context.Background(), nil); return err }},
		{"Events", func() error { _, err := r.store.Events(context.Background(), dibs.EventQuery{Limit: 1}); return err }},
		{"Due", func() error { _, err := r.store.Due(context.Background(), 1); return err }},
		{"Commit", func() error { r.mustCommit(reserving("a")); return nil }},
	} {
		r.fillPool()
		r.proxy.CutAll()
		r.proxy.AwaitServer()
		if err := call.do(); err != nil {
			t.Errorf("%s: %v", call.name, err)
		}
	}
}

// fillPool makes the store open all of its connections.
func (r *rig) fillPool() {
	r.Helper()
	const all = 12 // 4 writers and 8 more
	release := make(chan struct{})
	r.proxy.SetHook(pgproxy.Always(pgproxy.SQL("LEFT JOIN unnest"), pgproxy.StallAnswer(release)))
	loaded := make(chan error, all)
	for range all {
		go func() {
			_, err := r.store.Load(context.Background(), nil)
			loaded <- err
		}()
	}
	r.await("all connections are in use", func() bool {
		return ask[int](r, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", r.sessions()) == all
	})
	r.proxy.SetHook(nil)
	close(release)
	for range all {
		if err := <-loaded; err != nil {
			r.Fatal(err)
		}
	}
}

// A commit is never interrupted, but ends at the caller's deadline, also if that is before
// Config.Timeout.
func TestCommitHasADeadline(t *testing.T) {
	t.Parallel()
	const slow = "(SELECT 1767355200000 FROM pg_sleep(10))"
	r := newRig(t)
	r.aside(pgstore.Config{}) // creates the schema
	r.open(pgstore.Config{ClockSQL: slow, Timeout: time.Minute})
	doc := &dibs.Document{Kind: "test", ID: dibs.ID{1}, Rev: 1, Label: "late"}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	outcomes, err := r.store.Commit(ctx, []dibs.Group{{Reads: []dibs.Read{{Ref: doc.Ref()}}, Writes: []dibs.Write{{Record: doc}}}})
	if !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("outcomes %v, %v, want UNAVAILABLE", outcomes, err)
	}
	r.leave()
	if n := ask[int](r, "SELECT count(*) FROM "+r.table("dibs_documents")+" WHERE label = 'late'"); n != 0 {
		t.Error("it was committed after its deadline")
	}
}
