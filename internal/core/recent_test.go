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

func TestRecentIsBounded(t *testing.T) {
	t.Parallel()
	var m recent
	now := time.Now()
	for i := range 5 * generation {
		m.put(recordNo(i, 1), now)
		if n := len(m.young) + len(m.old); n > 2*generation {
			t.Fatalf("%d records are remembered", n)
		}
	}
	last := 5*generation - 1
	if m.get(rules.KeyOf(recordNo(last, 0).Ref())) == nil || m.get(rules.KeyOf(recordNo(last-generation/2, 0).Ref())) == nil {
		t.Error("the latest records are forgotten")
	}
	if m.get(rules.KeyOf(recordNo(0, 0).Ref())) != nil {
		t.Error("the oldest records are remembered")
	}
}

func TestRecentKeepsTheLatestRevision(t *testing.T) {
	t.Parallel()
	var m recent
	now := time.Now()
	key := rules.KeyOf(recordNo(1, 0).Ref())
	for _, rev := range []uint64{3, 2, 5, 4} {
		m.put(recordNo(1, rev), now)
	}
	m.age(now.Add(maxAge))
	m.put(recordNo(1, 4), now.Add(maxAge)) // revision 5 is in the older generation
	if r := m.get(key); r == nil || r.Revision() != 5 {
		t.Errorf("remembered %v", r)
	}
	m.put(recordNo(1, 6), now.Add(maxAge))
	m.forget(key)
	if r := m.get(key); r != nil {
		t.Errorf("forgotten, but still remembered: %v", r)
	}
}

func TestRecentForgets(t *testing.T) {
	t.Parallel()
	now := time.Now()
	key := rules.KeyOf(recordNo(1, 0).Ref())
	for after, want := range map[time.Duration]bool{0: true, maxAge: true, 2*maxAge - 1: true, 2 * maxAge: false, 24 * time.Hour: false} {
		var m recent
		m.put(recordNo(1, 1), now)
		m.age(now.Add(after))
		if got := m.get(key) != nil; got != want {
			t.Errorf("after %v: remembered %v, want %v", after, got, want)
		}
	}
}

// Large records, and records whose revisions may start over, are not remembered, and neither are the
// records that they replace.
func TestRecentLeavesOut(t *testing.T) {
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
		var m recent
		m.put(records[0], now)
		if m.get(rules.KeyOf(records[0].Ref())) == nil {
			t.Errorf("%s: a small record is not remembered", name)
		}
		m.put(records[1], now)
		if m.get(rules.KeyOf(records[0].Ref())) != nil {
			t.Errorf("%s: the record is remembered", name)
		}
	}
}
