package core

import (
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

func recordNo(i int, rev uint64) *dibs.NameRecord {
	return &dibs.NameRecord{ID: dibs.ID{byte(i), byte(i >> 8), byte(i >> 16)}, Rev: rev}
}

func newMemory() *guesser {
	g := &guesser{}
	g.forgetAll()
	return g
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	g := newMemory()
	now := time.Now()
	for i := range 5 * memorySize {
		g.put(recordNo(i, 1), now)
		if n := g.records.Len(); n > 2*memorySize {
			t.Fatalf("the memory has %d records", n)
		}
	}
	last := 5*memorySize - 1
	if g.recall(rules.KeyOf(recordNo(last, 0).Ref())) == nil || g.recall(rules.KeyOf(recordNo(last-memorySize/2, 0).Ref())) == nil {
		t.Error("the latest records are missing")
	}
	if g.recall(rules.KeyOf(recordNo(0, 0).Ref())) != nil {
		t.Error("the oldest record is still there")
	}
}

func TestMemoryKeepsTheLatestRevision(t *testing.T) {
	t.Parallel()
	g := newMemory()
	now := time.Now()
	key := rules.KeyOf(recordNo(1, 0).Ref())
	for _, rev := range []uint64{3, 2, 5, 4} {
		g.put(recordNo(1, rev), now)
	}
	g.records.Expire(now.Add(memoryAge))
	g.put(recordNo(1, 4), now.Add(memoryAge)) // revision 5 is in the older generation
	if r := g.recall(key); r == nil || r.Revision() != 5 {
		t.Errorf("got %v, want revision 5", r)
	}
	g.put(recordNo(1, 6), now.Add(memoryAge))
	g.records.Delete(key)
	if r := g.recall(key); r != nil {
		t.Errorf("got %v after forget", r)
	}
}

func TestMemoryExpires(t *testing.T) {
	t.Parallel()
	now := time.Now()
	key := rules.KeyOf(recordNo(1, 0).Ref())
	for after, want := range map[time.Duration]bool{0: true, memoryAge: true, 2*memoryAge - 1: true, 2 * memoryAge: false, 24 * time.Hour: false} {
		g := newMemory()
		g.put(recordNo(1, 1), now)
		g.records.Expire(now.Add(after))
		if got := g.recall(key) != nil; got != want {
			t.Errorf("after %v: found %v, want %v", after, got, want)
		}
	}
}

// The memory keeps neither large records nor records that may start again at revision 1, and
// drops the former revision of such a record.
func TestMemoryLeavesOut(t *testing.T) {
	t.Parallel()
	now := time.Now()
	someone := dibs.Entity{Type: "user", ID: "1"}
	many := make(map[string]dibs.ID)
	for i := range 33 {
		many[string(rune('a'+i))] = dibs.ID{}
	}
	for name, records := range map[string][2]dibs.Record{
		"entity":    {&dibs.EntityRecord{Rev: 1, Entity: someone}, &dibs.EntityRecord{Rev: 2, Entity: someone, Active: many}},
		"forgotten": {&dibs.EntityRecord{Rev: 1, Entity: someone}, &dibs.EntityRecord{Rev: 2}},
		"document":  {&dibs.Document{Kind: dibs.KindQuota, Rev: 1}, &dibs.Document{Kind: dibs.KindQuota, Rev: 2, Data: make([]byte, 4097)}},
		"swept":     {&dibs.Document{Kind: dibs.KindTally, Rev: 1}, &dibs.Document{Kind: dibs.KindTally, Rev: 2, Due: 1}},
		"name":      {&dibs.NameRecord{Rev: 1}, &dibs.NameRecord{Rev: 2, Meta: map[string]string{"a": "", "b": "", "c": "", "d": "", "e": ""}}},
	} {
		g := newMemory()
		g.put(records[0], now)
		if g.recall(rules.KeyOf(records[0].Ref())) == nil {
			t.Errorf("%s: a small record is missing", name)
		}
		g.put(records[1], now)
		if g.recall(rules.KeyOf(records[0].Ref())) != nil {
			t.Errorf("%s: the record is in the memory", name)
		}
	}
}

// The registry guesses while its guesses are right, and seldom while they are wrong.
func TestGuessRate(t *testing.T) {
	t.Parallel()
	var rate guessRate
	tries := func(batches int, right bool) (tried int) {
		for range batches {
			if rate.try() {
				tried++
				rate.note(right)
			}
		}
		return tried
	}
	if n := tries(100, true); n != 100 {
		t.Errorf("guessed %d of 100 times although all guesses were right", n)
	}
	if n := tries(1000, false); n < 20 || n > 60 {
		t.Errorf("guessed %d of 1000 times although all guesses were wrong", n)
	}
	tries(1000, true)
	if n := tries(100, true); n != 100 {
		t.Errorf("guessed %d of 100 times although all recent guesses were right", n)
	}
}
