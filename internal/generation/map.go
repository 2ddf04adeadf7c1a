// Package generation has a map of bounded size that keeps the latest entries, in two
// generations: new entries go into the young one, and when that is full it replaces the old
// one. This takes far less time and memory than an LRU list.
package generation

import "time"

// Map keeps the latest Size to 2*Size entries, by the time of their last Put. It is not safe
// for concurrent use.
type Map[K comparable, V any] struct {
	// Size is the number of entries in a generation.
	Size int
	// MaxAge is the age at which a generation ends even if it is not full, so entries live for
	// at most twice as long. Zero means no limit. It needs PutAt instead of Put.
	MaxAge time.Duration

	young, old map[K]V
	since      time.Time // the start of the young generation
}

// Get returns the value of a key, and whether there is one.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	if value, ok = m.young[key]; ok {
		return value, true
	}
	value, ok = m.old[key]
	return value, ok
}

// Put sets the value of a key, for maps without a MaxAge.
func (m *Map[K, V]) Put(key K, value V) { m.PutAt(key, value, time.Time{}) }

// PutAt sets the value of a key at the given time, after [Map.Expire].
func (m *Map[K, V]) PutAt(key K, value V, now time.Time) {
	m.Expire(now)
	if m.young == nil || len(m.young) >= m.Size {
		m.rotate(now)
	}
	m.young[key] = value
}

// Expire drops the entries that are older than MaxAge allows. Get may return such entries
// until Expire or PutAt is called.
func (m *Map[K, V]) Expire(now time.Time) {
	if m.MaxAge == 0 {
		return
	}
	age := now.Sub(m.since)
	if age >= m.MaxAge {
		m.rotate(now)
	}
	if age >= 2*m.MaxAge { // all entries are too old
		m.old = nil
	}
}

func (m *Map[K, V]) rotate(now time.Time) {
	m.young, m.old, m.since = make(map[K]V), m.young, now
}

// Delete removes a key.
func (m *Map[K, V]) Delete(key K) {
	delete(m.young, key)
	delete(m.old, key)
}

// Len returns the number of entries, where a key that is in both generations counts twice.
func (m *Map[K, V]) Len() int { return len(m.young) + len(m.old) }
