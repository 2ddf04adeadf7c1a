package snapshot

import (
	"bytes"
	"maps"
	"reflect"
	"slices"

	"github.com/calldibs/dibs"
)

// SameRecord reports whether two records have the same content. An empty list is the same as none.
func SameRecord(a, b dibs.Record) bool {
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

// SameEvent reports whether two events have the same content, wherever they are.
func SameEvent(a, b *dibs.Event) bool {
	if !maps.Equal(a.Meta, b.Meta) {
		return false
	}
	x, y := *a, *b
	x.Meta, y.Meta, x.Cursor, y.Cursor = nil, nil, "", ""
	return reflect.DeepEqual(&x, &y)
}
