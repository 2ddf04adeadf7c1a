package etcdstore

import (
	"sync"

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

func (f *footprints) get(key string) (footprint, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byKey.Get(key)
}

func (f *footprints) remove(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byKey.Delete(key)
}
