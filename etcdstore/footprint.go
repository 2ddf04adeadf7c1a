package etcdstore

import (
	"sync"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

// footprint is what a commit that changes a record must know of it: etcd's revision, which
// the transaction compares, and the index keys to clean up.
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

// footprints caches the footprints of records that were loaded or committed lately, in two
// generations. It may be wrong: commits compare etcd's revision.
type footprints struct {
	mu         sync.Mutex
	young, old map[string]footprint // by the record's key
}

// put adds a footprint, unless a later one is cached: a read from before a commit may arrive
// after it.
func (f *footprints) put(key string, fp footprint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if later, ok := f.find(key); ok && later.mod > fp.mod {
		return
	}
	if len(f.young) >= maxFootprints {
		f.young, f.old = nil, f.young
	}
	if f.young == nil {
		f.young = make(map[string]footprint)
	}
	f.young[key] = fp
}

func (f *footprints) get(key string) (footprint, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.find(key)
}

func (f *footprints) find(key string) (footprint, bool) {
	if fp, ok := f.young[key]; ok {
		return fp, true
	}
	fp, ok := f.old[key]
	return fp, ok
}

func (f *footprints) remove(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.young, key)
	delete(f.old, key)
}
