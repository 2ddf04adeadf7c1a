package dibscache

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/calldibs/dibs"
)

// markCount is how many marks there are. Two names may share one: then a change of one
// of them makes the cache ask for the other, too, and that is all.
const markCount = 1 << 16

// marks say when what was last told of. Each name and each entity has one, by its hash:
// so an answer need not be found to be made void, and one that is still under way when the
// event comes is void as well.
type marks struct {
	pages atomic.Uint64            // how many pages of the feed were noted
	void  atomic.Uint64            // the page at which everything may have changed
	last  [markCount]atomic.Uint64 // the page that told last of the names and entities of a mark
}

// note takes in what a page tells of, and whether everything may have changed besides. It
// reports whether that is so.
func (m *marks) note(events []dibs.Event, all bool) (void bool) {
	page := m.pages.Load() + 1
	for i := range events {
		e := &events[i]
		// This does not say whose the name was, and what was told of it before is gone: who
		// had it, and which names lead to it, nobody can tell.
		all = all || e.Kind == dibs.EventForgotten
		if !e.ID.IsZero() {
			m.last[markOf(e.ID)].Store(page)
		}
		for _, entity := range []dibs.Entity{e.Entity, e.Before.Entity, e.After.Entity} {
			if !entity.IsZero() {
				m.last[markOf(dibs.EntityID(e.Scope, entity))].Store(page)
			}
		}
	}
	if all {
		m.void.Store(page)
	}
	m.pages.Store(page)
	return all
}

// changed reports whether something that an answer rests on was told of since.
func (m *marks) changed(a *answer) bool {
	if m.void.Load() > a.seen {
		return true
	}
	for _, mark := range a.rests {
		if m.last[mark].Load() > a.seen {
			return true
		}
	}
	return false
}

// markOf is the mark of a name or an entity: an ID is a hash already.
func markOf(id dibs.ID) uint32 { return binary.BigEndian.Uint32(id[:]) % markCount }
