package verify

import (
	"fmt"

	"github.com/calldibs/dibs"
)

// comparedEntity is an entity, with what names and events say about it.
type comparedEntity struct {
	id    dibs.ID
	row   *entityRow
	first ownedName // the first active name in the namespace at hand that has to be the only one

	// Replayed from events, in the order of versions.
	archived, deleted bool
	version           uint64
}

func (e *comparedEntity) take(c *checker, tag byte, d *decoder) {
	switch tag {
	case tagEntity:
		e.row = d.entityRow()
	case tagOwned:
		e.owns(c, d.ownedName())
	case tagVersion:
		version, _ := d.order(), d.order()
		e.replay(version, dibs.EventKind(d.text()))
	}
}

// owns checks a name that says that the entity owns it. Names come ordered by namespace.
func (e *comparedEntity) owns(c *checker, n ownedName) {
	f := Finding{Namespace: n.namespace, Name: shownLabel(n.canonical), Entity: entityText(n.scope, n.entity)}
	switch {
	case e.row == nil || e.row.entity.IsZero():
		if f.Problem = "its owner has no record: the name leads nowhere"; n.state == dibs.Alias {
			f.Problem = "the owner of the alias has no record: it leads nowhere"
		}
		c.find(ownerKnown, f)
	case e.row.deleted && e.row.due == 0:
		f.Problem = "its owner was deleted, and this name was left"
		c.find(ownerKnown, f.differs(n.state, "quarantined or free"))
	}
	if n.state != dibs.Active || n.many {
		return
	}
	if e.first.namespace == n.namespace {
		f.Problem = "its owner has two active names in the namespace"
		f.Found, f.Expected = fmt.Sprintf("%s and %s", e.first.canonical, n.canonical), "one of them"
		c.find(oneActive, f)
	}
	e.first = n
}

// replay applies an event about the entity, or one that gives it a name.
func (e *comparedEntity) replay(version uint64, kind dibs.EventKind) {
	e.version = version
	switch kind {
	case dibs.EventArchived:
		e.archived, e.deleted = true, false // a deleted entity cannot be archived: it had got a name
	case dibs.EventRestored:
		e.archived, e.deleted = false, false
	case dibs.EventDeleted:
		e.archived, e.deleted = false, true
	case dibs.EventConfirmed, dibs.EventClaimed, dibs.EventImported, dibs.EventRevived, dibs.EventTransferred:
		e.deleted = false
	default: // changes neither
	}
}

func (e *comparedEntity) end(c *checker) {
	if e.row == nil || e.row.entity.IsZero() {
		return
	}
	f := Finding{Entity: entityText(e.row.scope, e.row.entity), Record: e.id.String()}
	if e.archived != e.row.archived {
		f.Problem = "the record and the events disagree on whether the entity is archived"
		c.find(replayedOne, f.differs(yesNo(e.row.archived), yesNo(e.archived)))
	}
	// It may have got a name after its deletion, which was forgotten with the name's events.
	isUnclear := e.deleted && e.row.rev > e.version && c.lacksEvents
	if e.deleted != e.row.deleted && !isUnclear {
		f.Problem = "the record and the events disagree on whether the entity was deleted"
		c.find(replayedOne, f.differs(yesNo(e.row.deleted), yesNo(e.deleted)))
	}
	if e.version > e.row.rev {
		f.Problem = "the record has an older version than an event of the entity"
		c.find(replayedOne, f.differs(e.row.rev, fmt.Sprintf("at least %d", e.version)))
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
