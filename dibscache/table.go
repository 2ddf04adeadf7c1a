package dibscache

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// table holds entries by the hash of their question, within a bound of memory. A lookup takes no
// lock, and writes nothing but the mark of an entry that was not used lately: it costs a fraction
// of one in a general cache, which also keeps an order of use.
//
// The hash of an entry selects its set, and the entry has one of the few slots of that. A hand, like
// that of a clock, passes over the sets while there is too much: it takes the marks away, and
// removes entries without one.
type table struct {
	sets     []set // a power of two
	maxBytes int64

	mu    sync.Mutex // for changes
	hand  int
	bytes atomic.Int64 // the approximate memory of the entries
}

// ways is the number of slots of a set: with them, a set is one line of the processor's cache.
const ways = 7

// set is the slots of some hashes.
type set struct {
	tags    atomic.Uint64 // a byte of each slot's hash, so that a lookup reads few entries
	entries [ways]atomic.Pointer[entry]
}

// maxSets bounds what a table takes from the start to 64 MiB. It has room for seven million entries.
const maxSets = 1 << 20

func newTable(maxBytes uint64) *table {
	// Sets of which half of the slots are used on average are hardly ever full.
	count := uint64(1) << bits.Len64(maxBytes/entrySize/(ways/2+2))
	return &table{sets: make([]set, min(count, maxSets)), maxBytes: int64(min(maxBytes, 1<<62))}
}

func (t *table) setOf(hash uint64) *set { return &t.sets[hash&uint64(len(t.sets)-1)] }

func tagOf(hash uint64) uint64 { return hash >> 56 }

// get returns the entry of a question, or nil.
func (t *table) get(hash uint64, q question) *entry {
	s := t.setOf(hash)
	for i, tags := 0, s.tags.Load(); i < ways; i, tags = i+1, tags>>8 {
		if tags&0xff != tagOf(hash) {
			continue
		}
		if e := s.entries[i].Load(); e != nil && e.question == q {
			if !e.used.Load() { // a line that is only read stays in the caches of all processors
				e.used.Store(true)
			}
			return e
		}
	}
	return nil
}

// put adds an entry, in place of one with the same question or of one that is used little.
func (t *table) put(hash uint64, e *entry) {
	size := e.size()
	if size > t.maxBytes {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for passed := 0; t.bytes.Load()+size > t.maxBytes; passed++ {
		t.evict(&t.sets[t.hand], passed > len(t.sets)) // readers may mark entries again and again
		t.hand = (t.hand + 1) % len(t.sets)
	}
	s := t.setOf(hash)
	i := s.slotFor(e.question)
	t.replace(&s.entries[i], e)
	shift := 8 * i
	s.tags.Store(s.tags.Load()&^(0xff<<shift) | tagOf(hash)<<shift)
}

// slotFor returns the slot of a question, or else a free one, or that of an entry without a mark.
func (s *set) slotFor(q question) int {
	free := -1
	for i := range s.entries {
		switch e := s.entries[i].Load(); {
		case e == nil:
			free = i
		case e.question == q:
			return i
		}
	}
	if free >= 0 {
		return free
	}
	for i := range s.entries {
		if !s.entries[i].Load().used.Swap(false) {
			return i
		}
	}
	return 0
}

// evict removes the entries of a set that were not used since the hand last passed, or all.
func (t *table) evict(s *set, all bool) {
	for i := range s.entries {
		if e := s.entries[i].Load(); e != nil && (!e.used.Swap(false) || all) {
			t.replace(&s.entries[i], nil)
		}
	}
}

// clear removes all entries.
func (t *table) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.sets {
		t.evict(&t.sets[i], true)
	}
}

// replace changes a slot; nil empties it.
func (t *table) replace(slot *atomic.Pointer[entry], e *entry) {
	if e != nil {
		t.bytes.Add(e.size())
	}
	if former := slot.Swap(e); former != nil {
		t.bytes.Add(-former.size())
	}
}
