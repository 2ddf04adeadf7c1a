package etcdstore

import (
	"sync"

	"github.com/calldibs/dibs"
)

// footprint is what a commit that changes a record has to know of it: the revision etcd
// gave it, which the transaction compares, and the index keys that it must clean up.
type footprint struct {
	rev     uint64 // the record's own revision
	mod     int64  // etcd's
	indexes []index
}

// index is a key that leads to a record.
type index struct{ key, value string }

func (s *Store) footprint(record dibs.Record, mod int64) footprint {
	return footprint{rev: record.Revision(), mod: mod, indexes: s.indexes(record)}
}

// indexes are the keys that lead to a record.
func (s *Store) indexes(record dibs.Record) []index {
	ref := record.Ref()
	id := string(ref.ID[:])
	var all []index
	place, listed := placeOf(record)
	if listed {
		all = append(all, index{s.keys.listing(ref.Kind) + place, id})
	}
	if date := dueOf(record); date != 0 {
		all = append(all, index{s.keys.due(date, ref), ref.Scope})
	}
	if name, ok := record.(*dibs.NameRecord); ok && (name.State == dibs.Active || name.State == dibs.Alias) {
		all = append(all, index{s.keys.owned(dibs.EntityID(name.Scope, name.Owner)) + place, id})
	}
	return all
}

// knownRoom is how many records are remembered for certain; at most twice as many.
const knownRoom = 1 << 15

// known remembers the footprints of records that were loaded or committed lately. It may
// be wrong about any of them: commits compare etcd's revision.
type known struct {
	mu         sync.Mutex
	young, old map[string]footprint // by the record's key
}

// put remembers a footprint, unless a later one is known: what was read before a commit may
// arrive after it.
func (k *known) put(key string, f footprint) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if later, ok := k.find(key); ok && later.mod > f.mod {
		return
	}
	if len(k.young) >= knownRoom {
		k.young, k.old = nil, k.young
	}
	if k.young == nil {
		k.young = make(map[string]footprint)
	}
	k.young[key] = f
}

func (k *known) get(key string) (footprint, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.find(key)
}

func (k *known) find(key string) (footprint, bool) {
	if f, ok := k.young[key]; ok {
		return f, true
	}
	f, ok := k.old[key]
	return f, ok
}

func (k *known) forget(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.young, key)
	delete(k.old, key)
}
