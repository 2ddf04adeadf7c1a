package pgstore

import (
	"context"

	"github.com/calldibs/dibs"
)

// flooredStore is a txStore that commits the floors which are missing under
// namespaces, at once and for everybody. In the caller's transaction the first name of
// a namespace would lock the whole of it: everybody there rests on its floor. A floor
// says nothing by itself, so it may well stay if the transaction is rolled back.
//
// A transaction with a snapshot of its own would not see it, and goes without.
type flooredStore struct{ *txStore }

// Commit lays the floors that are missing, and calls all groups stale then: decided
// again, they find them.
func (s *flooredStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if laid, err := s.layFloors(ctx, groups); err != nil || laid {
		return make([]dibs.Outcome, len(groups)), err
	}
	return s.txStore.Commit(ctx, groups)
}

func (s *flooredStore) layFloors(ctx context.Context, groups []dibs.Group) (laid bool, err error) {
	var missing []dibs.Group
	for i := range groups {
		for _, r := range groups[i].Reads {
			if r.Ref.Kind == dibs.KindFloor && r.Rev == 0 {
				missing = append(missing, dibs.Group{Reads: []dibs.Read{r}, Writes: writesOf(&groups[i], r.Ref)})
			}
		}
	}
	if len(missing) == 0 {
		return false, nil
	}
	var level string
	err = s.run(ctx, call{text: "SHOW transaction_isolation", scan: func(row scanner) error { return row.Scan(&level) }})
	if err != nil || level != "read committed" {
		return false, err
	}
	outcomes, err := s.store.Commit(ctx, missing)
	if err != nil {
		return false, err
	}
	for _, outcome := range outcomes {
		laid = laid || outcome == dibs.Committed
	}
	return laid, nil
}

// writesOf returns what a group makes of one record.
func writesOf(g *dibs.Group, ref dibs.Ref) (writes []dibs.Write) {
	for _, w := range g.Writes {
		if w.Record.Ref() == ref {
			writes = append(writes, w)
		}
	}
	return writes
}
