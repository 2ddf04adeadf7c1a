package copier

import (
	"bytes"
	"maps"
	"reflect"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

// sameRecord reports whether two records have the same content. An empty list is the same as none.
func sameRecord(a, b dibs.Record) bool {
	switch a := a.(type) {
	case *dibs.NameRecord:
		b, ok := b.(*dibs.NameRecord)
		return ok && maps.Equal(a.Meta, b.Meta) && slices.Equal(a.Links, b.Links) && slices.Equal(a.Spent, b.Spent) &&
			reflect.DeepEqual(withoutLists(a), withoutLists(b))
	case *dibs.EntityRecord:
		b, ok := b.(*dibs.EntityRecord)
		if !ok || !maps.Equal(a.Active, b.Active) {
			return false
		}
		x, y := *a, *b
		x.Active, y.Active = nil, nil
		return reflect.DeepEqual(&x, &y)
	case *dibs.Document:
		b, ok := b.(*dibs.Document)
		return ok && a.Ref() == b.Ref() && a.Rev == b.Rev && a.Label == b.Label && a.Due == b.Due && bytes.Equal(a.Data, b.Data)
	}
	return false // not reached: there are no other kinds
}

func withoutLists(n *dibs.NameRecord) *dibs.NameRecord {
	c := *n
	c.Meta, c.Links, c.Spent = nil, nil, nil
	return &c
}

// sameEvent reports whether two events have the same content, wherever they are.
func sameEvent(a, b *dibs.Event) bool {
	if !maps.Equal(a.Meta, b.Meta) {
		return false
	}
	x, y := *a, *b
	x.Meta, y.Meta, x.Cursor, y.Cursor = nil, nil, "", ""
	return reflect.DeepEqual(&x, &y)
}

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
