package pgstore

import (
	"context"
	"slices"

	"github.com/calldibs/dibs"
)

// namespaceStore is a txStore that commits missing namespace records at once, outside the
// caller's transaction. Inside it the first name of a namespace would lock the whole namespace,
// since every command reads the namespace record. The record may stay if the transaction is
// rolled back. A transaction with a snapshot would not see it, and writes its own.
type namespaceStore struct{ *txStore }

// Commit creates missing namespace records and then returns all groups as stale, so that they
// are decided again with these records.
func (s *namespaceStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if created, err := s.createNamespaces(ctx, groups); err != nil || created {
		return make([]dibs.Outcome, len(groups)), err
	}
	return s.txStore.Commit(ctx, groups)
}

func (s *namespaceStore) createNamespaces(ctx context.Context, groups []dibs.Group) (created bool, err error) {
	var missing []dibs.Group
	for i := range groups {
		for _, r := range groups[i].Reads {
			if r.Ref.Kind == dibs.KindNamespace && r.Rev == 0 {
				missing = append(missing, dibs.Group{Reads: []dibs.Read{r}, Writes: writesOf(&groups[i], r.Ref)})
			}
		}
	}
	if len(missing) == 0 {
		return false, nil
	}
	var level string
	err = s.run(ctx, call{text: "SHOW transaction_isolation", scan: scanInto(&level)})
	if err != nil || level != "read committed" {
		return false, err
	}
	outcomes, err := s.store.Commit(ctx, missing)
	return err == nil && slices.Contains(outcomes, dibs.Committed), err
}

// writesOf returns the writes of one record in a group.
func writesOf(g *dibs.Group, ref dibs.Ref) (writes []dibs.Write) {
	for _, w := range g.Writes {
		if w.Record.Ref() == ref {
			writes = append(writes, w)
		}
	}
	return writes
}
