package etcdstore

import (
	"bytes"
	"context"
	"slices"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/generation"
	"github.com/calldibs/dibs/internal/record"
)

// footprint is what a commit must know of a record that it changes: etcd's revision, which the
// transaction compares, the index keys to clean up, and what stays.
type footprint struct {
	rev     uint64 // the record's own revision
	mod     int64  // etcd's
	indexes []index
	due     dibs.Instant
	latest  recent // events of a name
}

// index is a key that leads to a record.
type index struct {
	key string
	id  dibs.ID // the value
}

func (s *Store) footprint(r dibs.Record, mod int64, latest recent) footprint {
	return footprint{rev: r.Revision(), mod: mod, indexes: s.indexes(r), due: record.Due(r), latest: slices.Clone(latest)}
}

// indexes returns the keys that lead to a record.
func (s *Store) indexes(r dibs.Record) []index {
	switch r := r.(type) {
	case *dibs.NameRecord:
		label := nameLabel(r.Namespace, r.Canonical)
		listed := index{s.keys.names(r.State) + label, r.ID}
		if !record.Owned(r) {
			return []index{listed}
		}
		return []index{listed, {s.keys.owned(dibs.EntityID(r.Scope, r.Owner)) + label, r.ID}}
	case *dibs.Document:
		return []index{{s.keys.documents(r.Kind) + r.Label, r.ID}}
	}
	return nil
}

// maxFootprints is the size of one generation of the cache.
const maxFootprints = 1 << 15

// footprints caches the footprints of records that were loaded or committed lately. A wrong one
// only makes a commit stale, since commits compare etcd's revision.
type footprints struct {
	mu    sync.Mutex
	byKey generation.Map[string, footprint] // the key of the record
}

func newFootprints() *footprints {
	return &footprints{byKey: generation.Map[string, footprint]{Size: maxFootprints}}
}

// put adds a footprint, unless a later one is cached: a read from before a commit may arrive
// after it.
func (f *footprints) put(key string, fp footprint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if later, ok := f.byKey.Get(key); !ok || later.mod <= fp.mod {
		f.byKey.Put(key, fp)
	}
}

// get returns the footprint of a revision of a record.
func (f *footprints) get(key string, rev uint64) (fp footprint, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fp, ok = f.byKey.Get(key)
	return fp, ok && fp.rev == rev
}

func (f *footprints) remove(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byKey.Delete(key)
}

// pendingGroup is a group on its way into a transaction.
type pendingGroup struct {
	group   dibs.Group
	outcome dibs.Outcome
	stale   bool // it is in no transaction

	reads   []pendingRead     // as in the group
	changes map[string]change // by key, except names and events, which depend on the stamp
	names   []pendingName     // that it stores
	events  [][]byte          // the values of its events
	due     dueDates

	deletedNames  []dibs.ID // their events are deleted too
	deletedOrders []string  // of the commits of those events
	deletedDue    dueDates  // that they had
}

// pendingRead is a record that a group read: its key, and what it was, or zero if it was absent.
type pendingRead struct {
	key    string
	former footprint
}

// read returns what the group read of a record.
func (p *pendingGroup) read(ref dibs.Ref) pendingRead {
	for i := range p.group.Reads {
		if read := &p.group.Reads[i].Ref; read.ID == ref.ID && read.Kind == ref.Kind {
			return p.reads[i]
		}
	}
	return pendingRead{}
}

// change is the new value of a key, or its deletion.
type change struct {
	value   []byte
	deleted bool
}

// pendingName is a name on its way into a transaction.
type pendingName struct {
	record *dibs.NameRecord
	key    string
	value  []byte // without events
	kept   recent // events that it had
	latest recent // with those of the group, as the last attempt numbered them
}

// name returns the name that the group stores under an id, or nil.
func (p *pendingGroup) name(id dibs.ID) *pendingName {
	for i := range p.names {
		if p.names[i].record.ID == id {
			return &p.names[i]
		}
	}
	return nil
}

// prepare works out what groups compare and change. It loads footprints that are missing.
func (s *Store) prepare(ctx context.Context, groups []dibs.Group) ([]*pendingGroup, error) {
	if err := s.loadFootprints(ctx, groups); err != nil {
		return nil, err
	}
	pending := make([]*pendingGroup, len(groups))
	all := make([]pendingGroup, len(groups))
	for i, group := range groups {
		p := &all[i]
		p.group, p.reads, p.changes = group, make([]pendingRead, len(group.Reads)), make(map[string]change)
		pending[i] = p
		for j, read := range group.Reads {
			known := true
			p.reads[j].key = s.keys.ref(read.Ref)
			if read.Rev != 0 {
				p.reads[j].former, known = s.footprints.get(p.reads[j].key, read.Rev)
			}
			p.stale = p.stale || !known
		}
		if p.stale {
			continue
		}
		if err := s.write(ctx, p); err != nil {
			return nil, err
		}
	}
	return pending, nil
}

// loadFootprints loads the records that the groups have read and whose footprint is missing.
func (s *Store) loadFootprints(ctx context.Context, groups []dibs.Group) error {
	var missing []dibs.Ref
	for _, group := range groups {
		for _, read := range group.Reads {
			if read.Rev == 0 {
				continue
			}
			if _, ok := s.footprints.get(s.keys.ref(read.Ref), read.Rev); !ok {
				missing = append(missing, read.Ref)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err := s.records(ctx, missing, 0)
	return err
}

// write works out the changes of a group.
func (s *Store) write(ctx context.Context, p *pendingGroup) error {
	for _, w := range p.group.Writes {
		if err := s.writeRecord(ctx, p, w); err != nil {
			return err
		}
	}
	for _, read := range p.reads {
		for _, f := range read.former.indexes {
			if bytes.Equal(p.changes[f.key].value, f.id[:]) {
				delete(p.changes, f.key) // it exists already: an index changes only with its record
			}
		}
	}
	for i := range p.group.Events {
		event := &p.group.Events[i]
		var of *dibs.NameRecord
		if n := p.name(event.ID); n != nil {
			of = n.record
		}
		p.events = append(p.events, encodeEvent(event, of))
	}
	for i := range p.names {
		if err := s.makeRoom(p, &p.names[i]); err != nil {
			return err
		}
	}
	return s.redact(ctx, p)
}

// writeRecord works out the changes of one record and its indexes.
func (s *Store) writeRecord(ctx context.Context, p *pendingGroup, w dibs.Write) error {
	ref := w.Record.Ref()
	read := p.read(ref)
	key, former := read.key, read.former
	for _, f := range former.indexes {
		if _, put := p.changes[f.key]; !put {
			p.changes[f.key] = change{deleted: true}
		}
	}
	if (w.Delete || w.Renew) && ref.Kind == dibs.KindName {
		if err := s.findHistory(ctx, p, ref.ID, former.latest); err != nil {
			return err
		}
		former.latest = nil
		if w.Delete || record.Due(w.Record) != former.due {
			p.deletedDue = append(p.deletedDue, dueDate{ref, former.due})
		}
	}
	if w.Delete {
		p.changes[key] = change{deleted: true}
		return nil
	}
	p.addDue(w.Record, former.due)
	for _, to := range s.indexes(w.Record) {
		p.changes[to.key] = change{value: to.id[:]}
	}
	if name, ok := w.Record.(*dibs.NameRecord); ok {
		p.names = append(p.names, pendingName{record: name, key: key, value: encode(name), kept: former.latest})
	} else {
		p.changes[key] = change{value: encode(w.Record)}
	}
	return nil
}

// makeRoom moves the events that a name has to keys of their own, if there will be too many.
func (s *Store) makeRoom(p *pendingGroup, n *pendingName) error {
	count := len(n.kept.positions())
	for i := range p.group.Events {
		if p.group.Events[i].ID == n.record.ID {
			count++
		}
	}
	if count <= maxRecent {
		return nil
	}
	for at, value := range n.kept.all() {
		event, err := decodeEvent(n.record.ID, n.record, value)
		if err != nil {
			return err
		}
		p.changes[s.keys.event(n.record.ID, at)] = change{value: encodeEvent(&event, nil)}
	}
	n.kept = nil
	return nil
}

// redact replaces the values of events that exist. They still exist when the transaction is
// applied: only a change of the name removes or moves its events, and other events are never
// removed.
func (s *Store) redact(ctx context.Context, p *pendingGroup) error {
	var alone []string // keys of events
	var values [][]byte
	for i := range p.group.Redacts {
		event := &p.group.Redacts[i]
		if slices.Contains(p.deletedNames, event.ID) {
			continue
		}
		at, err := s.parseCursor(ctx, event.Cursor)
		if err != nil {
			return err
		}
		if n := p.name(event.ID); n != nil && n.kept.find(at) != nil {
			n.kept = n.kept.replace(at, encodeEvent(event, n.record))
			continue
		}
		key, value := s.keys.event(event.ID, at), encodeEvent(event, nil)
		if _, moved := p.changes[key]; moved {
			p.changes[key] = change{value: value}
			continue
		}
		alone, values = append(alone, key), append(values, value)
	}
	if len(alone) == 0 {
		return nil
	}
	found, err := s.getKeys(ctx, alone, 0)
	if err != nil {
		return err
	}
	for i, kv := range found {
		if kv != nil {
			p.changes[alone[i]] = change{value: values[i]}
		}
	}
	return nil
}

// findHistory finds the events of a name that is deleted. No event can be
// added before the transaction without a change of the name.
func (s *Store) findHistory(ctx context.Context, p *pendingGroup, name dibs.ID, latest recent) error {
	prefix := s.keys.history(name)
	found, _, err := s.scan(ctx, prefix, prefixEnd(prefix), 0, clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	p.deletedNames = append(p.deletedNames, name)
	positions := latest.positions()
	for _, kv := range found.Kvs {
		positions = append(positions, invert(string(kv.Key[len(prefix):])))
	}
	for _, at := range positions {
		if len(at) == positionSize {
			p.deletedOrders = append(p.deletedOrders, at[:orderSize])
		}
	}
	return nil
}

// compares returns the conditions under which the group is committed.
func compares(p *pendingGroup) []*pb.Compare {
	all := make([]*pb.Compare, len(p.reads))
	for i, read := range p.reads {
		all[i] = unchangedSince(read.key, read.former.mod)
	}
	return all
}

// ops returns the changes. The first event gets the index firstEvent.
func (s *Store) ops(p *pendingGroup, mark stamp, firstEvent int) []*pb.RequestOp {
	all := make([]*pb.RequestOp, 0, len(p.changes)+len(p.names)+len(p.deletedNames))
	for key, to := range p.changes {
		if to.deleted {
			all = append(all, remove(key, ""))
		} else {
			all = append(all, put(key, to.value))
		}
	}
	for _, name := range p.deletedNames {
		// Those before this commit: its own events of the name stay.
		after := s.keys.event(name, position(mark.order, 0)) + nul
		all = append(all, remove(after, prefixEnd(s.keys.history(name))))
	}
	for i := range p.names {
		p.names[i].latest = slices.Clip(p.names[i].kept)
	}
	for i, value := range p.events {
		id, at := p.group.Events[i].ID, position(mark.order, firstEvent+i)
		if n := p.name(id); n != nil {
			n.latest = n.latest.add(at, value)
		} else {
			all = append(all, put(s.keys.event(id, at), value))
		}
	}
	for _, n := range p.names {
		all = append(all, put(n.key, n.latest.appendTo(n.value)))
	}
	return all
}

// size returns how much of the servers' limits a group takes.
func (s *Store) size(p *pendingGroup) (ops, bytes int) {
	const overhead = 16                                               // of each, on the wire
	keySize := len(s.keys.prefix) + 1 + len(dibs.ID{}) + positionSize // of an event
	for key, to := range p.changes {
		bytes += len(key) + len(to.value) + overhead
	}
	for _, n := range p.names {
		bytes += len(n.key) + len(n.value) + len(n.kept) + overhead
	}
	for _, value := range p.events {
		bytes += keySize + len(value) + overhead + len(dibs.ID{})
	}
	for _, d := range p.due {
		bytes += len(d.ref.Kind) + len(d.ref.Scope) + len(d.ref.ID) + overhead
	}
	bytes += len(p.deletedNames) * (2*keySize + overhead)
	for _, read := range p.reads {
		bytes += len(read.key) + overhead
	}
	return max(len(p.changes)+len(p.names)+len(p.events)+len(p.deletedNames), len(p.group.Reads)), bytes
}
