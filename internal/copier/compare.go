package copier

import (
	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

// eventID is what identifies an event on both sides, also after details of it were erased. Events
// about entities may share one.
type eventID struct {
	name                 dibs.ID
	rev                  uint64
	kind                 dibs.EventKind
	at                   dibs.Instant
	namespace, canonical string
}

func idOf(e *dibs.Event) eventID {
	return eventID{e.ID, e.Rev, e.Kind, e.At, e.Namespace, e.Canonical}
}

// labelOf returns what identifies a record for a person. It changes only if that was erased.
func labelOf(r dibs.Record) string {
	switch r := r.(type) {
	case *dibs.NameRecord:
		return r.Key()
	case *dibs.EntityRecord:
		if r.Entity == (dibs.Entity{}) {
			return r.ID.String()
		}
		return r.Entity.String()
	}
	return record.Position(r).Label
}
