package memstore

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

// Commit commits groups one after another, each as a whole or not at all.
func (s *Store) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	// The copies are made before the mutex is taken, to hold it for a short time.
	own := make([]dibs.Group, len(groups))
	for i, group := range groups {
		own[i] = copyGroup(group)
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if fence, ok := s.records[keyOf(record.FenceRef)]; ok {
		return nil, record.Moved(record.Place(fence))
	}

	outcomes := make([]dibs.Outcome, len(groups))
	for i, group := range own {
		if s.current(group) {
			s.apply(group)
			outcomes[i] = dibs.Committed
		}
	}
	return outcomes, nil
}

// current reports whether all records that a group has read are unchanged, and its window
// contains the time.
func (s *Store) current(group dibs.Group) bool {
	for _, read := range group.Reads {
		var rev uint64
		if r, ok := s.records[keyOf(read.Ref)]; ok {
			rev = r.Revision()
		}
		if rev != read.Rev {
			return false
		}
	}
	return group.Window.Contains(dibs.InstantOf(s.now()))
}

// apply makes the changes of a group. It cannot fail.
func (s *Store) apply(group dibs.Group) {
	for _, write := range group.Writes {
		if write.Delete || write.Renew {
			s.remove(write.Record.Ref())
		}
		if !write.Delete {
			s.put(write.Record)
		}
	}
	for _, event := range group.Redacts {
		s.feed.redact(event)
	}
	for _, event := range group.Events {
		s.feed.append(event)
	}
}

// put stores a record in place of its former revision, if there was one.
func (s *Store) put(r dibs.Record) {
	k := keyOf(r.Ref())
	former, existed := s.records[k]
	if existed {
		s.unindex(former)
	}
	s.records[k] = r
	if due := record.Due(r); due != record.Due(former) {
		s.due.set(k, due)
	}
	s.count(r, 1)
	if name, ok := r.(*dibs.NameRecord); ok && record.Owned(name) {
		o := owner{name.Scope, name.Owner}
		if s.owned[o] == nil {
			s.owned[o] = make(map[dibs.ID]*dibs.NameRecord)
		}
		s.owned[o][name.ID] = name
	}
	if !existed || record.Position(former) != record.Position(r) {
		delete(s.listings, k.kind)
	}
}

// remove deletes a record and, with a name, its events.
func (s *Store) remove(ref dibs.Ref) {
	k := keyOf(ref)
	former, existed := s.records[k]
	if !existed {
		return
	}
	s.unindex(former)
	s.due.set(k, 0)
	delete(s.records, k)
	delete(s.listings, k.kind)
	if k.kind == dibs.KindName {
		s.feed.remove(k.id)
	}
}

// count adds to the count of names in the state of a name.
func (s *Store) count(r dibs.Record, add int) {
	if name, ok := r.(*dibs.NameRecord); ok && name.State != dibs.Free {
		s.counts[dibs.NameCount{Namespace: name.Namespace, State: name.State}] += add
	}
}

// unindex removes a record from the indexes, except that of dates.
func (s *Store) unindex(r dibs.Record) {
	s.count(r, -1)
	name, ok := r.(*dibs.NameRecord)
	if !ok || !record.Owned(name) {
		return
	}
	o := owner{name.Scope, name.Owner}
	delete(s.owned[o], name.ID)
	if len(s.owned[o]) == 0 {
		delete(s.owned, o)
	}
}

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
