package memstore

import (
	"bytes"
	"maps"
	"slices"

	"github.com/calldibs/dibs"
)

// Records are immutable by contract. Copying them on the way in and out keeps a
// caller that breaks this from changing what is stored.

// copyGroup returns a group that shares with the caller's no record, map or data
// that will be stored. Reads are only looked at during the call.
func copyGroup(group dibs.Group) dibs.Group {
	group.Writes = slices.Clone(group.Writes)
	for i := range group.Writes {
		group.Writes[i].Record = copyRecord(group.Writes[i].Record)
	}
	group.Events = slices.Clone(group.Events)
	for i := range group.Events {
		group.Events[i] = copyEvent(group.Events[i])
	}
	group.Redacts = slices.Clone(group.Redacts)
	for i := range group.Redacts {
		group.Redacts[i] = copyEvent(group.Redacts[i])
	}
	return group
}

// copyRecords replaces the records of a slice by copies.
func copyRecords(records []dibs.Record) {
	for i, record := range records {
		records[i] = copyRecord(record)
	}
}

func copyRecord(record dibs.Record) dibs.Record {
	switch r := record.(type) {
	case *dibs.NameRecord:
		return copyName(r)
	case *dibs.EntityRecord:
		c := *r
		c.Active = maps.Clone(r.Active)
		return &c
	case *dibs.Document:
		c := *r
		c.Data = bytes.Clone(r.Data)
		return &c
	}
	return record // there is no other: Record is sealed
}

func copyName(name *dibs.NameRecord) *dibs.NameRecord {
	c := *name
	c.Meta, c.Links, c.Spent = maps.Clone(name.Meta), slices.Clone(name.Links), slices.Clone(name.Spent)
	return &c
}

func copyEvent(event dibs.Event) dibs.Event {
	event.Meta = maps.Clone(event.Meta)
	return event
}
