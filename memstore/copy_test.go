package memstore_test

import (
	"slices"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

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
