package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
)

// transaction is one attempt to commit groups.
type transaction struct {
	indexes  []int // of all groups; they commit or fail together
	general  *changes
	newNames *newNames
	// generalIndexes are those of the groups in general.
	generalIndexes []int
	shortLockWait  bool
}

func (c *commitCall) transaction(indexes []int) (*transaction, error) {
	t := &transaction{indexes: indexes, shortLockWait: c.searching()}
	for _, i := range indexes {
		g := &c.groups[i]
		var err error
		if isNewName(g) {
			if t.newNames == nil {
				t.newNames = &newNames{changes: *c.store.newChanges()}
			}
			err = t.newNames.add(i, g)
		} else {
			if t.general == nil {
				t.general = c.store.newChanges()
			}
			t.generalIndexes = append(t.generalIndexes, i)
			err = t.general.add(g)
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

const setShortLockWait = "SET LOCAL lock_timeout = '2ms'"

// run runs the transaction in one round trip.
func (t *transaction) run(ctx context.Context, conn *pgx.Conn, sql *statements) error {
	if t.general == nil && !t.shortLockWait {
		return pipeline(ctx, conn, t.newNames.call(sql))
	}
	calls := []call{{text: "BEGIN"}}
	if t.shortLockWait {
		calls = append(calls, call{text: setShortLockWait})
	}
	if t.general != nil {
		t.general.sort()
		t.general.chain()
		calls = append(calls, t.general.calls(sql)...)
	}
	if t.newNames != nil {
		calls = append(calls, t.newNames.call(sql))
	}
	return pipeline(ctx, conn, append(calls, call{text: "COMMIT"})...)
}

// accept notes the outcomes of a committed transaction.
func (c *commitCall) accept(t *transaction) {
	if t.general != nil {
		for _, i := range t.generalIndexes {
			c.outcomes[i] = dibs.Committed
		}
		c.committed = true
		c.store.clock.learn(t.general.now)
	}
	if t.newNames != nil {
		t.newNames.outcomes(c.groups, c.outcomes)
		c.committed = c.committed || len(t.newNames.inserted) > 0
		c.store.clock.learn(t.newNames.now)
	}
	for _, i := range t.indexes {
		c.store.locked.remove(&c.groups[i])
	}
}
