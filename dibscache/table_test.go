package dibscache

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"
)

// numbered returns a question and a hash of it, the same in every run: how many entries share a set is no matter of luck.
func numbered(i int) (uint64, question) {
	return rand.NewPCG(uint64(i), 0).Uint64(), question{namespace: "slug", value: fmt.Sprint("name-", i)}
}

// The table stays within its memory, and what is used stays in it.
func TestTableIsBounded(t *testing.T) {
	t.Parallel()
	const room, used, rounds = 500, 50, 100
	table := newTable(room * entrySize)
	for i := range room * rounds {
		hash, q := numbered(i)
		table.put(hash, &entry{question: q})
		if table.get(hash, q) == nil {
			t.Fatalf("%s is not there", q.value)
		}
		if bytes := table.bytes.Load(); bytes > room*entrySize {
			t.Fatalf("%d bytes, more than %d", bytes, room*entrySize)
		}
		hash, q = numbered(i % used)
		table.get(hash, q)
	}
	kept := 0
	for i := range used {
		if hash, q := numbered(i); table.get(hash, q) != nil {
			kept++
		}
	}
	if kept < used*3/4 {
		t.Errorf("%d of %d used entries are still there", kept, used)
	}
	count := int64(0)
	for i := range table.sets {
		for j := range table.sets[i].entries {
			if e := table.sets[i].entries[j].Load(); e != nil {
				count += e.size()
			}
		}
	}
	if bytes := table.bytes.Load(); bytes != count || count < room*entrySize/2 {
		t.Errorf("%d bytes, counted %d, of %d", bytes, count, room*entrySize)
	}
	if table.clear(); table.bytes.Load() != 0 {
		t.Errorf("%d bytes after clear", table.bytes.Load())
	}
}

// Entries of questions with the same hash, a table for less than one entry, and one without a
// bound do no harm.
func TestTableOddCases(t *testing.T) {
	t.Parallel()
	table := newTable(100 * entrySize)
	for range 2 { // the second time they replace themselves
		for i := range ways {
			_, q := numbered(i)
			table.put(1, &entry{question: q})
		}
	}
	for i := range ways {
		if _, q := numbered(i); table.get(1, q) == nil {
			t.Errorf("%s is not there", q.value)
		}
	}
	if _, q := numbered(ways); table.get(1, q) != nil {
		t.Errorf("%s is there", q.value)
	}
	tiny := newTable(1)
	hash, q := numbered(0)
	if tiny.put(hash, &entry{question: q}); tiny.get(hash, q) != nil || tiny.bytes.Load() != 0 {
		t.Errorf("%d bytes in a table for one", tiny.bytes.Load())
	}
	huge := newTable(math.MaxUint64)
	if huge.put(hash, &entry{question: q}); huge.get(hash, q) == nil || len(huge.sets) > maxSets {
		t.Errorf("a huge table has %d sets", len(huge.sets))
	}
}

// Readers and writers never see the entry of another question.
func TestTableConcurrently(t *testing.T) {
	t.Parallel()
	table := newTable(200 * entrySize)
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 20_000 {
				hash, q := numbered((i*7 + worker*13) % 400)
				switch e := table.get(hash, q); {
				case e == nil:
					table.put(hash, &entry{question: q})
				case e.question != q:
					t.Errorf("%v for %v", e.question, q)
				}
				if i%5000 == worker {
					table.clear()
				}
			}
		})
	}
	all.Wait()
}

// What every lookup reads is one line of the processor's cache.
func TestLookupReadsOneLine(t *testing.T) {
	t.Parallel()
	const line = 64
	if n := unsafe.Sizeof(set{}); n != line {
		t.Errorf("a set has %d bytes", n)
	}
	var e entry
	if at := unsafe.Offsetof(e.lasting) + unsafe.Sizeof(e.lasting); at > line {
		t.Errorf("what a lookup reads of an entry ends at byte %d", at)
	}
	if n := unsafe.Sizeof(e); n > entrySize {
		t.Errorf("an entry has %d bytes, more than entrySize", n)
	}
}
