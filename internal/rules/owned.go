package rules

import (
	"slices"

	"github.com/calldibs/dibs"
)

// namesOf returns an entity's names, and whether there are more than a command may touch. The
// caller must have read the entity's record: its revision changes when a name is added or removed
// meanwhile.
func (v *view) namesOf(scope string, entity dibs.Entity) (ids []dibs.ID, more bool) {
	owner := Owner{scope, entity}
	v.batch.wantOwned(owner)
	for _, n := range v.batch.owned[owner] {
		ids = append(ids, n.ID)
	}
	// Commands before this one may have given the entity names that the engine does not have yet.
	// Names that they took from it show that when they are read.
	for _, r := range v.pending() {
		if n, ok := r.(*dibs.NameRecord); ok && n.Scope == scope && n.Owner == entity && !slices.Contains(ids, n.ID) {
			ids = append(ids, n.ID)
		}
	}
	return ids, len(ids) > maxNames
}

// pending returns the records that were changed before this command, always in the same order.
func (v *view) pending() []dibs.Record {
	var records []dibs.Record
	for level := v; level != nil; level = level.parent {
		for _, c := range level.changes {
			records = append(records, c.record)
		}
	}
	for _, r := range v.batch.current {
		records = append(records, r)
	}
	records = slices.DeleteFunc(records, func(r dibs.Record) bool { return r == nil }) // deletions
	slices.SortFunc(records, func(a, b dibs.Record) int {
		x, y := a.Ref().ID, b.Ref().ID
		return slices.Compare(x[:], y[:])
	})
	return records
}
