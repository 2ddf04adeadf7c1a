package memstore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/nametest"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{
		Open: func(_ testing.TB, clock *storetest.Clock) dibs.Store {
			return memstore.New(memstore.Config{Now: clock.Now})
		},
	})
}

// hold makes a group that stores a new name.
func hold(canonical string) dibs.Group {
	name := &dibs.NameRecord{
		ID: dibs.NameID("slug", canonical), Rev: 1, Namespace: "slug", Value: canonical, Canonical: canonical,
		State: dibs.Held, Status: dibs.StatusReserved,
	}
	return dibs.Group{
		Reads:  []dibs.Read{{Ref: name.Ref()}},
		Writes: []dibs.Write{{Record: name}},
		Events: []dibs.Event{{Kind: dibs.EventReserved, ID: name.ID, Namespace: "slug", Canonical: canonical, Rev: 1}},
	}
}

// Ten thousand callers want one name, and each one more name of its own.
func TestManyCallers(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	var winners atomic.Int32
	var wg sync.WaitGroup
	for i := range 10_000 {
		wg.Go(func() {
			outcomes, err := store.Commit(t.Context(), []dibs.Group{hold("one"), hold(fmt.Sprint(i))})
			if err != nil || outcomes[1] != dibs.Committed {
				t.Errorf("caller %d: %v, %v", i, outcomes, err)
				return
			}
			winners.Add(int32(outcomes[0]))
		})
	}
	wg.Wait()
	if winners.Load() != 1 {
		t.Errorf("%d callers have the name, want 1", winners.Load())
	}
}

// Inside testing/synctest the default clock is that of the bubble.
func TestClockInSynctest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(memstore.Config{})
		for range 2 {
			snapshots, err := store.Load(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := dibs.InstantOf(time.Now()); snapshots.Now != want {
				t.Errorf("Now is %d, want %d", snapshots.Now, want)
			}
			time.Sleep(time.Hour)
		}
	})
}

// A position beyond the end, or another spelling of a number, is not a cursor.
func TestBadCursors(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	if _, err := store.Commit(t.Context(), []dibs.Group{hold("a")}); err != nil {
		t.Fatal(err)
	}
	for _, cursor := range []dibs.Cursor{"0", "2", "01", "+1", "18446744073709551615"} {
		if _, err := store.Events(t.Context(), dibs.EventQuery{After: cursor, Limit: 1}); !errors.Is(err, dibs.ErrBadCursor) {
			t.Errorf("after %q: %v, want ErrBadCursor", cursor, err)
		}
	}
}

// A caller that changes its records, or those that it got, does not change what is stored.
func TestStoredRecordsAreCopies(t *testing.T) {
	t.Parallel()
	store := memstore.New(memstore.Config{})
	who := dibs.Entity{Type: "user", ID: "1"}
	name := &dibs.NameRecord{
		ID: dibs.NameID("slug", "a"), Rev: 1, Namespace: "slug", Value: "a", Canonical: "a",
		State: dibs.Active, Status: dibs.StatusConfirmed, Owner: who, Meta: map[string]string{"k": "v"},
	}
	entity := &dibs.EntityRecord{ID: dibs.EntityID("", who), Rev: 1, Entity: who, Active: map[string]dibs.ID{"slug": name.ID}}
	document := &dibs.Document{Kind: dibs.KindTally, ID: dibs.NameID("t", "t"), Rev: 1, Label: "t", Data: []byte("data")}
	event := dibs.Event{Kind: dibs.EventClaimed, ID: name.ID, Namespace: "slug", Rev: 1, Meta: map[string]string{"k": "v"}}
	group := dibs.Group{
		Writes: []dibs.Write{{Record: name}, {Record: entity}, {Record: document}},
		Events: []dibs.Event{event},
	}
	if _, err := store.Commit(t.Context(), []dibs.Group{group}); err != nil {
		t.Fatal(err)
	}

	spoil := func(record dibs.Record) {
		switch r := record.(type) {
		case *dibs.NameRecord:
			r.Value, r.Meta["k"] = "spoilt", "spoilt"
		case *dibs.EntityRecord:
			r.Archived, r.Active["slug"] = true, dibs.ID{}
		case *dibs.Document:
			r.Label, r.Data[0] = "spoilt", 'D'
		}
	}
	for _, record := range []dibs.Record{name, entity, document} {
		spoil(record)
	}
	event.Meta["k"] = "spoilt"
	group.Events[0].Kind = dibs.EventDeleted

	for range 2 { // the first round spoils what it gets
		loaded, err := store.Load(t.Context(), []dibs.Ref{name.Ref(), entity.Ref(), document.Ref()})
		if err != nil {
			t.Fatal(err)
		}
		owned, err := store.Owned(t.Context(), "", who, 1)
		if err != nil {
			t.Fatal(err)
		}
		listed, err := store.List(t.Context(), dibs.ListQuery{Kind: dibs.KindTally, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		events, err := store.Events(t.Context(), dibs.EventQuery{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		records := slices.Concat(loaded.Records, []dibs.Record{owned[0], listed[0]})
		for _, record := range records {
			requireUnspoilt(t, record)
			spoil(record)
		}
		if events[0].Kind != dibs.EventClaimed || events[0].Meta["k"] != "v" {
			t.Errorf("the event was altered: %+v", events[0])
		}
		events[0].Meta["k"] = "spoilt"
	}
}

func requireUnspoilt(t *testing.T, record dibs.Record) {
	t.Helper()
	switch r := record.(type) {
	case *dibs.NameRecord:
		if r.Value != "a" || r.Meta["k"] != "v" {
			t.Errorf("the name was altered: %+v", r)
		}
	case *dibs.EntityRecord:
		if r.Archived || r.Active["slug"].IsZero() {
			t.Errorf("the entity was altered: %+v", r)
		}
	case *dibs.Document:
		if r.Label != "t" || string(r.Data) != "data" {
			t.Errorf("the document was altered: %+v", r)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	nametest.Run(t, func(_ testing.TB, clock *storetest.Clock) *nametest.Harness {
		var cfg memstore.Config
		if clock != nil {
			cfg.Now = clock.Now
		}
		store := memstore.New(cfg) // one for several registries
		return &nametest.Harness{
			Open:    func(testing.TB) dibs.Store { return keptOpen{store} },
			DryRuns: 500,
			Dump:    func(tb testing.TB) []byte { return dump(tb, store) },
		}
	})
}

// keptOpen is a store that outlasts its registries, as the data of other engines does.
type keptOpen struct{ *memstore.Store }

func (keptOpen) Close() error { return nil }

// dump returns everything that can be listed.
func dump(tb testing.TB, store *memstore.Store) []byte {
	tb.Helper()
	var all []any
	for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindNamespace, dibs.KindQuota, dibs.KindTally, dibs.KindActivity, dibs.KindSkeleton, dibs.KindHash} {
		records, err := store.List(tb.Context(), dibs.ListQuery{Kind: kind, Limit: 100_000})
		if err != nil {
			tb.Fatal(err)
		}
		for _, r := range records {
			all = append(all, r)
		}
	}
	events, err := store.Events(tb.Context(), dibs.EventQuery{Limit: 100_000})
	if err != nil {
		tb.Fatal(err)
	}
	data, err := json.Marshal(append(all, events))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
