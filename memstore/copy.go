package memstore

import (
	"bytes"
	"maps"
	"slices"

	"github.com/calldibs/dibs"
)

// Callers must not change records. Copies on the way in and out protect the store from a caller
// that does.

// copyGroup returns a group that shares no record, map or data with the caller's. It does not
// copy Reads, which only the call itself uses.
func copyGroup(group dibs.Group) dibs.Group {
	group.Writes = slices.Clone(group.Writes)
	for i := range group.Writes {
		group.Writes[i].Record = copyRecord(group.Writes[i].Record)
	}
	group.Events, group.Redacts = copyEvents(group.Events), copyEvents(group.Redacts)
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
		c := *r
		c.Meta, c.Links, c.Spent = maps.Clone(r.Meta), slices.Clone(r.Links), slices.Clone(r.Spent)
		return &c
	case *dibs.EntityRecord:
		c := *r
		c.Active = maps.Clone(r.Active)
		return &c
	case *dibs.Document:
		c := *r
		c.Data = bytes.Clone(r.Data)
		return &c
	}
	return record // not reached: Record has no other kinds
}

func copyEvents(events []dibs.Event) []dibs.Event {
	events = slices.Clone(events)
	for i := range events {
		events[i].Meta = maps.Clone(events[i].Meta)
	}
	return events
}
