package dibscache

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/calldibs/dibs"
)

// slotCount is the number of slots. If two names share one, an event of either invalidates
// the entries of both.
const slotCount = 1 << 16

// invalidations record which page of the feed last had an event of a name or an entity. Each
// of these has a slot by its hash, so an event does not need to find the entries that it
// invalidates, and also invalidates answers that are still on their way.
type invalidations struct {
	pages atomic.Uint64            // how many pages were added
	all   atomic.Uint64            // the last page that invalidated everything
	last  [slotCount]atomic.Uint64 // the last page with an event of the slot
}

// add adds a page of events, and reports whether it invalidates everything. With all set it
// does.
func (v *invalidations) add(events []dibs.Event, all bool) (invalidatesAll bool) {
	page := v.pages.Load() + 1
	for i := range events {
		e := &events[i]
		// This event does not contain the entity, and earlier events of the name are erased:
		// so the entries that depend on the name are not known.
		all = all || e.Kind == dibs.EventForgotten
		if !e.ID.IsZero() {
			v.last[slotOf(e.ID)].Store(page)
		}
		for _, entity := range []dibs.Entity{e.Entity, e.Before.Entity, e.After.Entity} {
			if !entity.IsZero() {
				v.last[slotOf(dibs.EntityID(e.Scope, entity))].Store(page)
			}
		}
	}
	if all {
		v.all.Store(page)
	}
	v.pages.Store(page)
	return all
}

// affect reports whether a page since the entry's invalidates the entry.
func (v *invalidations) affect(e *entry) bool {
	return v.all.Load() > e.pages || v.last[e.dependsOn[0]].Load() > e.pages || v.last[e.dependsOn[1]].Load() > e.pages
}

// slotOf returns the slot of a name or an entity, whose ID is a hash.
func slotOf(id dibs.ID) uint32 { return binary.BigEndian.Uint32(id[:]) % slotCount }
