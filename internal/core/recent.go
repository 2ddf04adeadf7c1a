package core

import (
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

const (
	// generation is how many records make one; two of them are kept.
	generation = 4096
	// maxAge ends a generation that does not fill up. An engine may lose what it has
	// committed, in a failover say, and use its revisions again: nobody should
	// remember for long.
	maxAge = 30 * time.Second
)

// recent remembers records that were lately loaded or committed. It is a guess, never
// the truth: whoever decides on it has Commit check the revision.
type recent struct {
	young, old map[rules.Key]dibs.Record
	since      time.Time // when young began
}

// get returns what is remembered of a record, or nil.
func (m *recent) get(key rules.Key) dibs.Record {
	if r, ok := m.young[key]; ok {
		return r
	}
	return m.old[key]
}

// put remembers a record, unless a later revision of it is known.
func (m *recent) put(r dibs.Record, now time.Time) {
	key := rules.KeyOf(r.Ref())
	switch known := m.get(key); {
	case known != nil && known.Revision() > r.Revision():
		return
	case !memorable(r):
		m.forget(key)
		return
	}
	m.age(now)
	m.young[key] = r
}

// memorable reports whether a record is small, as nearly all are, and never starts over
// at its first revision, as documents do that are swept, and forgotten entities.
func memorable(r dibs.Record) bool {
	switch r := r.(type) {
	case *dibs.NameRecord:
		return len(r.Meta) <= 4
	case *dibs.EntityRecord:
		return len(r.Active) <= 32 && !r.Entity.IsZero()
	case *dibs.Document:
		return len(r.Data) <= 4096 && r.Due == 0
	default:
		return false
	}
}

// age begins a new generation when the young one is full, or old.
func (m *recent) age(now time.Time) {
	switch age := now.Sub(m.since); {
	case age >= 2*maxAge: // nobody was here for long
		m.old = nil
	case age >= maxAge || len(m.young) >= generation:
		m.old = m.young
	default:
		return
	}
	m.young, m.since = make(map[rules.Key]dibs.Record), now
}

// forget removes a record.
func (m *recent) forget(key rules.Key) {
	delete(m.young, key)
	delete(m.old, key)
}
