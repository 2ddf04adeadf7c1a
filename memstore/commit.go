package memstore

import (
	"context"

	"github.com/calldibs/dibs"
)

// Commit commits groups one after another, each as a whole or not at all.
func (s *Store) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	// Copies are made before the mutex is taken: it is what everyone waits for.
	own := make([]dibs.Group, len(groups))
	for i, group := range groups {
		own[i] = copyGroup(group)
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()

	outcomes := make([]dibs.Outcome, len(groups))
	for i, group := range own {
		if s.holds(group) {
			s.apply(group)
			outcomes[i] = dibs.Committed
		}
	}
	return outcomes, nil
}

// holds reports whether everything that a group rests on is still so.
func (s *Store) holds(group dibs.Group) bool {
	for _, read := range group.Reads {
		var rev uint64
		if record, ok := s.records[keyOf(read.Ref)]; ok {
			rev = record.Revision()
		}
		if rev != read.Rev {
			return false
		}
	}
	return group.Window.Contains(dibs.InstantOf(s.now()))
}

// apply makes a group's changes. Nothing in it can fail.
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
func (s *Store) put(record dibs.Record) {
	k := keyOf(record.Ref())
	former, existed := s.records[k]
	if existed {
		s.unindex(k, former)
	}
	s.records[k] = record
	if date := dueOf(record); date != 0 {
		s.due[k] = date
	}
	if name, ok := record.(*dibs.NameRecord); ok && isOwned(name) {
		o := owner{name.Scope, name.Owner}
		if s.owned[o] == nil {
			s.owned[o] = make(map[dibs.ID]*dibs.NameRecord)
		}
		s.owned[o][name.ID] = name
	}
	if !existed || positionOf(former) != positionOf(record) {
		s.listing.changed(k.kind)
	}
}

// remove deletes a record and, with a name, its events.
func (s *Store) remove(ref dibs.Ref) {
	k := keyOf(ref)
	former, existed := s.records[k]
	if !existed {
		return
	}
	s.unindex(k, former)
	delete(s.records, k)
	s.listing.changed(k.kind)
	if k.kind == dibs.KindName {
		s.feed.forget(k.id)
	}
}

// unindex takes a record that is about to go out of the indexes.
func (s *Store) unindex(k key, record dibs.Record) {
	delete(s.due, k)
	name, ok := record.(*dibs.NameRecord)
	if !ok || !isOwned(name) {
		return
	}
	o := owner{name.Scope, name.Owner}
	delete(s.owned[o], name.ID)
	if len(s.owned[o]) == 0 {
		delete(s.owned, o)
	}
}

// isOwned reports whether a name is its Owner's now: one that was given up keeps
// its last owner in the same field.
func isOwned(name *dibs.NameRecord) bool {
	return name.State == dibs.Active || name.State == dibs.Alias
}

// dueOf returns a record's Due date.
func dueOf(record dibs.Record) dibs.Instant {
	switch r := record.(type) {
	case *dibs.NameRecord:
		return r.Due
	case *dibs.EntityRecord:
		return r.Due
	case *dibs.Document:
		return r.Due
	}
	return 0
}
