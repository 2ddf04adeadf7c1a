package etcdstore

import (
	"context"
	"maps"
	"slices"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/generation"
	"github.com/calldibs/dibs/internal/record"
)

// footprint is what a commit must know of a record that it changes: etcd's revision, which the
// transaction compares, and the index keys to clean up.
type footprint struct {
	rev     uint64 // the record's own revision
	mod     int64  // etcd's
	indexes []index
}

// index is a key that leads to a record.
type index struct{ key, value string }

func (s *Store) footprint(r dibs.Record, mod int64) footprint {
	return footprint{rev: r.Revision(), mod: mod, indexes: s.indexes(r)}
}

// indexes returns the keys that lead to a record.
func (s *Store) indexes(r dibs.Record) []index {
	ref := r.Ref()
	id := string(ref.ID[:])
	var all []index
	label := listLabel(ref.Kind, record.Position(r))
	if ref.Kind != dibs.KindEntity {
		all = append(all, index{s.keys.listing(ref.Kind) + label, id})
	}
	if date := record.Due(r); date != 0 {
		all = append(all, index{s.keys.due(date, ref), ref.Scope})
	}
	if name, ok := r.(*dibs.NameRecord); ok && record.Owned(name) {
		all = append(all, index{s.keys.owned(dibs.EntityID(name.Scope, name.Owner)) + label, id})
	}
	return all
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

	formers map[string]footprint // of the existing records that it read, by key
	changes map[string]change    // by key, except events, whose keys depend on the stamp
	events  [][]byte             // the values of its events

	deletedNames  []dibs.ID // their events are deleted too
	deletedOrders []string  // of the commits of those events
}

// change is the new value of a key, or its deletion.
type change struct {
	value   string
	deleted bool
}

// prepare works out what groups compare and change. It loads footprints that are missing.
func (s *Store) prepare(ctx context.Context, groups []dibs.Group) ([]*pendingGroup, error) {
	if err := s.loadFootprints(ctx, groups); err != nil {
		return nil, err
	}
	pending := make([]*pendingGroup, len(groups))
	for i, group := range groups {
		p := &pendingGroup{group: group, formers: make(map[string]footprint), changes: make(map[string]change)}
		pending[i] = p
		for _, read := range group.Reads {
			if read.Rev == 0 {
				continue
			}
			key := s.keys.ref(read.Ref)
			former, ok := s.footprints.get(key, read.Rev)
			p.stale = p.stale || !ok
			p.formers[key] = former
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
		ref := w.Record.Ref()
		key := s.keys.ref(ref)
		for _, former := range p.formers[key].indexes {
			if _, put := p.changes[former.key]; !put {
				p.changes[former.key] = change{deleted: true}
			}
		}
		if (w.Delete || w.Renew) && ref.Kind == dibs.KindName {
			if err := s.findHistory(ctx, p, ref.ID); err != nil {
				return err
			}
		}
		if w.Delete {
			p.changes[key] = change{deleted: true}
			continue
		}
		p.changes[key] = change{value: string(encode(w.Record))}
		for _, to := range s.indexes(w.Record) {
			p.changes[to.key] = change{value: to.value}
		}
	}
	for _, former := range p.formers {
		for _, f := range former.indexes {
			if p.changes[f.key] == (change{value: f.value}) {
				delete(p.changes, f.key) // it exists already: an index changes only with its record
			}
		}
	}
	for i := range p.group.Events {
		value, err := encodeEvent(&p.group.Events[i])
		if err != nil {
			return err
		}
		p.events = append(p.events, value)
	}
	return s.redact(ctx, p)
}

// redact replaces the values of events that exist. They still exist when the transaction is
// applied: only a change of the name removes its events, and other events are never removed.
func (s *Store) redact(ctx context.Context, p *pendingGroup) error {
	if len(p.group.Redacts) == 0 {
		return nil
	}
	keys := make([]string, len(p.group.Redacts))
	for i := range p.group.Redacts {
		position, err := s.parseCursor(ctx, p.group.Redacts[i].Cursor)
		if err != nil {
			return err
		}
		keys[i] = s.keys.history(p.group.Redacts[i].ID) + position
	}
	found, err := s.getKeys(ctx, keys, 0)
	if err != nil {
		return err
	}
	for i, kv := range found {
		if kv == nil {
			continue
		}
		value, err := encodeEvent(&p.group.Redacts[i])
		if err != nil {
			return err
		}
		p.changes[keys[i]] = change{value: string(value)}
	}
	return nil
}

// findHistory finds the events of a name that is deleted. No event can be
// added before the transaction without a change of the name.
func (s *Store) findHistory(ctx context.Context, p *pendingGroup, name dibs.ID) error {
	prefix := s.keys.history(name)
	found, _, err := s.scan(ctx, prefix, prefixEnd(prefix), 0, clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	p.deletedNames = append(p.deletedNames, name)
	for _, kv := range found.Kvs {
		if at := string(kv.Key[len(prefix):]); len(at) == positionSize {
			p.deletedOrders = append(p.deletedOrders, at[:orderSize])
		}
	}
	return nil
}

// compares returns the conditions under which the group is committed.
func (s *Store) compares(p *pendingGroup) []clientv3.Cmp {
	all := make([]clientv3.Cmp, len(p.group.Reads))
	for i, read := range p.group.Reads {
		key := s.keys.ref(read.Ref)
		if read.Rev == 0 {
			all[i] = clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
		} else {
			all[i] = clientv3.Compare(clientv3.ModRevision(key), "=", p.formers[key].mod)
		}
	}
	return all
}

// ops returns the changes. The first event gets the index firstEvent.
func (s *Store) ops(p *pendingGroup, mark stamp, firstEvent int) []clientv3.Op {
	var all []clientv3.Op
	for _, key := range slices.Sorted(maps.Keys(p.changes)) {
		if p.changes[key].deleted {
			all = append(all, clientv3.OpDelete(key))
		} else {
			all = append(all, clientv3.OpPut(key, p.changes[key].value))
		}
	}
	for _, name := range p.deletedNames {
		// Up to this commit: its own events of the name stay.
		prefix := s.keys.history(name)
		all = append(all, clientv3.OpDelete(prefix, clientv3.WithRange(prefix+position(mark.order, 0))))
	}
	for i, value := range p.events {
		all = append(all, clientv3.OpPut(s.keys.history(p.group.Events[i].ID)+position(mark.order, firstEvent+i), string(value)))
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
	for _, value := range p.events {
		bytes += keySize + len(value) + overhead + len(dibs.ID{})
	}
	bytes += len(p.deletedNames) * (2*keySize + overhead)
	for _, read := range p.group.Reads {
		bytes += len(s.keys.ref(read.Ref)) + overhead
	}
	return max(len(p.changes)+len(p.events)+len(p.deletedNames), len(p.group.Reads)), bytes
}
