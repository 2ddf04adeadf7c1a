package pgstore_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/pgproxy"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

// The store uses no feature that other servers with the protocol of PostgreSQL lack: not in
// migrations, not in any verb, not inside a caller's transaction.
func TestNoForbiddenFeatures(t *testing.T) {
	sequential(t)
	t.Parallel()
	r := newRig(t)
	r.proxy.Forbid(pgproxy.Forbidden)
	r.proxy.LimitArrays(500)
	clock := r.newClock()
	r.open(pgstore.Config{ClockSQL: clock.sql})
	reg := r.registry(r.store, dibs.Config{MaxBatch: 2000, Policies: map[string]dibs.Policy{
		"slug":  {HoldHistory: 10 * time.Second, MaxHolds: 100, Quarantine: time.Second},
		"crowd": {HoldHistory: 10 * time.Second},
		"email": {ManyPerEntity: true, AliasRetention: time.Second},
		"shop":  {Witness: func(context.Context, dibs.SuspectHold) (dibs.Verdict, error) { return dibs.Absent, nil }},
	}})
	w := &workload{T: t, rig: r, reg: reg, clock: clock}
	w.ownNames()
	w.holdNames()
	w.readAll()
	w.crowd(1200)
	w.largeGroups(1200)
	w.insidePgxTx()
	w.insideSQLTx()
	w.sweepAll()
	for _, violation := range r.proxy.Violations() {
		t.Error(violation)
	}
}

// sequenceClock is a clock in the database that a test moves.
type sequenceClock struct {
	*rig
	sequence, sql string
}

func (r *rig) newClock() *sequenceClock {
	r.Helper()
	schema := pgx.Identifier{pgtest.Shared(r.TB).NewSchema(r.TB)}.Sanitize()
	c := &sequenceClock{rig: r, sequence: schema + ".clock", sql: "(SELECT last_value FROM " + schema + ".clock)"}
	for _, statement := range []string{"CREATE SCHEMA " + schema, "CREATE SEQUENCE " + c.sequence} {
		if _, err := r.direct.Exec(context.Background(), statement); err != nil {
			r.Fatal(err)
		}
	}
	c.advance(time.Duration(time.Now().UnixNano()))
	return c
}

func (c *sequenceClock) advance(d time.Duration) {
	c.Helper()
	ask[int64](c.rig, "SELECT setval($1::text::regclass, (SELECT last_value FROM "+c.sequence+") + $2)", c.sequence, d.Milliseconds())
}

// With prepared statements every call of a store is one round trip.
func TestOneRoundTrip(t *testing.T) {
	sequential(t)
	t.Parallel()
	// One connection, so that the statements are prepared on it.
	r := newRig(t).open(pgstore.Config{NoNotify: true}, "pool_max_conns", "1")
	manyMixed := func(round int) []dibs.Group {
		var groups []dibs.Group
		for i := range 40 {
			groups = append(groups, r.play(mixed(fmt.Sprintf("mixed-%d-%d", round, i))).groups...)
		}
		return groups
	}
	prepared := [][]dibs.Group{manyMixed(0), manyMixed(1)}
	refs := func(round int) (list []dibs.Ref) {
		for i := range prepared[round] {
			list = append(list, prepared[round][i].Reads[0].Ref)
		}
		return list
	}
	calls := []struct {
		name string
		do   func(round int)
	}{
		{"a lone reservation", func(round int) { r.mustCommit(reserving(fmt.Sprint("lone-", round))) }},
		{"200 groups of all kinds", func(round int) { r.mustCommit(prepared[round]...) }},
		{"Load", func(round int) { r.load(refs(round)...) }},
		{"Load of more than one statement", func(round int) { r.load(slices.Repeat(refs(round), 3)...) }},
	}
	for _, call := range calls {
		call.do(0)
	}
	r.await("the feed is done", func() bool {
		return ask[int](r, "SELECT count(*) FROM "+r.table("dibs_batches")+" WHERE seq IS NULL") == 0
	})
	for _, call := range calls {
		// The feed numbers commits in the background.
		seen := counting(func(x *pgproxy.Exchange) bool { return !numbersFeed(x) }, nil)
		r.proxy.SetHook(seen.hook)
		call.do(1)
		if seen.count() != 1 {
			t.Errorf("%s took %d round trips", call.name, seen.count())
			for range seen.count() {
				t.Log((<-seen.seen).Statements)
			}
		}
	}
}

func (r *rig) load(refs ...dibs.Ref) {
	r.Helper()
	if _, err := r.store.Load(context.Background(), refs); err != nil {
		r.Fatal(err)
	}
}
