package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
)

// transaction is one try to commit groups.
type transaction struct {
	places  []int    // all of them, whose fate is one
	whole   *changes // nil if there are none
	fresh   *fresh   // nil if there are none
	general []int
	hurried bool // it hardly waits for locks
}

func (c *committing) transaction(places []int) (*transaction, error) {
	t := &transaction{places: places, hurried: c.hurries()}
	for _, i := range places {
		g := &c.groups[i]
		var err error
		if isFresh(g) {
			if t.fresh == nil {
				t.fresh = &fresh{changes: *newChanges(c.store.batches.next(), c.store.stamps.next())}
			}
			err = t.fresh.add(i, g)
		} else {
			if t.whole == nil {
				t.whole = newChanges(c.store.batches.next(), c.store.stamps.next())
			}
			t.general = append(t.general, i)
			err = t.whole.add(g)
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// hardlyWait makes a transaction leave a lock that is not to be had at once to whoever
// has it.
const hardlyWait = "SET LOCAL lock_timeout = '2ms'"

// run runs the transaction in one round trip.
func (t *transaction) run(ctx context.Context, conn *pgx.Conn, sql *statements) error {
	if t.whole == nil && !t.hurried {
		return pipeline(ctx, conn, t.fresh.call(sql))
	}
	calls := []call{{text: "BEGIN"}}
	if t.hurried {
		calls = append(calls, call{text: hardlyWait})
	}
	if t.whole != nil {
		t.whole.sort()
		t.whole.chain()
		calls = append(calls, t.whole.calls(sql)...)
	}
	if t.fresh != nil {
		calls = append(calls, t.fresh.call(sql))
	}
	return pipeline(ctx, conn, append(calls, call{text: "COMMIT"})...)
}

// accept takes in what a transaction has done.
func (c *committing) accept(t *transaction) {
	if t.whole != nil {
		for _, i := range t.general {
			c.outcomes[i] = dibs.Committed
		}
		c.committed = true
		c.store.clock.learn(t.whole.now)
	}
	if t.fresh != nil {
		t.fresh.outcomes(c.groups, c.outcomes)
		c.committed = c.committed || len(t.fresh.inserted) > 0
		c.store.clock.learn(t.fresh.now)
	}
	for _, i := range t.places {
		c.store.busy.forget(&c.groups[i])
	}
}
