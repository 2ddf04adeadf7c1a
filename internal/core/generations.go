package core

import "time"

// generationMap is a map of bounded size that keeps the latest Size to 2*Size entries, in two
// generations: when the young one is full it replaces the old one.
type generationMap[K comparable, V any] struct {
	Size   int           // entries of a generation
	MaxAge time.Duration // of a generation that is not full; zero means any age

	young, old map[K]V
	since      time.Time // the start of the young generation
}

// Get returns the value of a key, and whether there is one.
func (m *generationMap[K, V]) Get(key K) (value V, ok bool) {
	if value, ok = m.young[key]; ok {
		return value, true
	}
	value, ok = m.old[key]
	return value, ok
}

// PutAt sets the value of a key at the given time.
func (m *generationMap[K, V]) PutAt(key K, value V, now time.Time) {
	if m.Expire(now); m.young == nil || len(m.young) >= m.Size {
		m.rotate(now)
	}
	m.young[key] = value
}

// Expire drops entries that are too old.
func (m *generationMap[K, V]) Expire(now time.Time) {
	age := now.Sub(m.since)
	if m.MaxAge == 0 || age < m.MaxAge {
		return
	}
	if m.rotate(now); age >= 2*m.MaxAge {
		m.old = nil
	}
}

func (m *generationMap[K, V]) rotate(now time.Time) {
	m.young, m.old, m.since = make(map[K]V), m.young, now
}

// Delete removes a key.
func (m *generationMap[K, V]) Delete(key K) {
	delete(m.young, key)
	delete(m.old, key)
}

// Len returns the number of entries. A key in both generations counts twice.
func (m *generationMap[K, V]) Len() int { return len(m.young) + len(m.old) }
