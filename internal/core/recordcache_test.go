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

func TestRecordCacheIsBounded(t *testing.T) {
	t.Parallel()
	m := newRecordCache()
	now := time.Now()
	for i := range 5 * recordCacheSize {
		m.put(recordNo(i, 1), now)
		if n := m.records.Len(); n > 2*recordCacheSize {
			t.Fatalf("the cache has %d records", n)
		}
	}
	last := 5*recordCacheSize - 1
	if m.get(rules.KeyOf(recordNo(last, 0).Ref())) == nil || m.get(rules.KeyOf(recordNo(last-recordCacheSize/2, 0).Ref())) == nil {
		t.Error("the latest records are missing")
	}
	if m.get(rules.KeyOf(recordNo(0, 0).Ref())) != nil {
		t.Error("the oldest record is still there")
	}
}

func TestRecordCacheKeepsTheLatestRevision(t *testing.T) {
	t.Parallel()
	m := newRecordCache()
	now := time.Now()
	key := rules.KeyOf(recordNo(1, 0).Ref())
	for _, rev := range []uint64{3, 2, 5, 4} {
		m.put(recordNo(1, rev), now)
	}
	m.expire(now.Add(recordCacheAge))
	m.put(recordNo(1, 4), now.Add(recordCacheAge)) // revision 5 is in the older generation
	if r := m.get(key); r == nil || r.Revision() != 5 {
		t.Errorf("got %v, want revision 5", r)
	}
	m.put(recordNo(1, 6), now.Add(recordCacheAge))
	m.forget(key)
	if r := m.get(key); r != nil {
		t.Errorf("got %v after forget", r)
	}
}

func TestRecordCacheExpires(t *testing.T) {
	t.Parallel()
	now := time.Now()
	key := rules.KeyOf(recordNo(1, 0).Ref())
	for after, want := range map[time.Duration]bool{0: true, recordCacheAge: true, 2*recordCacheAge - 1: true, 2 * recordCacheAge: false, 24 * time.Hour: false} {
		m := newRecordCache()
		m.put(recordNo(1, 1), now)
		m.expire(now.Add(after))
		if got := m.get(key) != nil; got != want {
			t.Errorf("after %v: found %v, want %v", after, got, want)
		}
	}
}

// The cache keeps neither large records nor records that may start again at revision 1, and
// drops the former revision of such a record.
func TestRecordCacheLeavesOut(t *testing.T) {
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
		m := newRecordCache()
		m.put(records[0], now)
		if m.get(rules.KeyOf(records[0].Ref())) == nil {
			t.Errorf("%s: a small record is missing", name)
		}
		m.put(records[1], now)
		if m.get(rules.KeyOf(records[0].Ref())) != nil {
			t.Errorf("%s: the record is in the cache", name)
		}
	}
}
