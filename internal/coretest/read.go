package coretest

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// Stored is the content of an engine, without entities.
type Stored struct {
	Records []dibs.Record
	Events  []dibs.Event
}

// Dump returns what the engine has stored.
func (f *Fixture) Dump() Stored {
	f.T.Helper()
	all := Stored{Events: f.AllEvents()}
	for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindNamespace, dibs.KindQuota, dibs.KindSkeleton, dibs.KindHash} {
		all.Records = append(all.Records, f.Records(kind)...)
	}
	return all
}

// Records returns the engine's records of a kind.
func (f *Fixture) Records(kind dibs.Kind) []dibs.Record {
	f.T.Helper()
	records, err := f.Engine.List(f.Ctx, dibs.ListQuery{Kind: kind, Limit: 10_000})
	if err != nil {
		f.T.Fatal(err)
	}
	return records
}

// AllEvents returns the whole feed.
func (f *Fixture) AllEvents() []dibs.Event {
	f.T.Helper()
	events, err := f.Engine.Events(f.Ctx, dibs.EventQuery{Limit: 100_000})
	if err != nil {
		f.T.Fatal(err)
	}
	return events
}

// HistoryOf returns a name's events, oldest first. It also reads them in pages, which must come
// to the same.
func (f *Fixture) HistoryOf(namespace, value string) []dibs.Event {
	f.T.Helper()
	whole, err := f.History(f.Ctx, namespace, value)
	if err != nil {
		f.T.Fatal(err)
	}
	for limit := 1; limit <= 3; limit++ {
		query := dibs.HistoryQuery{Namespace: namespace, Value: value, Limit: limit}
		var events []dibs.Event
		for first := true; first || query.Cursor != ""; first = false {
			page, err := f.HistoryPage(f.Ctx, query)
			if err != nil {
				f.T.Fatal(err)
			}
			if len(page.Events) > limit || len(page.Events) < limit && page.Next != "" {
				f.T.Fatalf("a page of at most %d events has %d; the next cursor is %q", limit, len(page.Events), page.Next)
			}
			events = append(page.Events, events...)
			query.Cursor = page.Next
		}
		if !reflect.DeepEqual(events, whole) {
			f.T.Fatalf("in pages of %d the history of %s:%s is\n%+v\nand as a whole\n%+v", limit, namespace, value, events, whole)
		}
	}
	return whole
}

// KindsOf returns the kinds of a name's events, oldest first.
func (f *Fixture) KindsOf(namespace, value string) []dibs.EventKind {
	f.T.Helper()
	events := f.HistoryOf(namespace, value)
	kinds := make([]dibs.EventKind, len(events))
	for i, e := range events {
		kinds[i] = e.Kind
	}
	return kinds
}

// NameOf returns a name that must have a row.
func (f *Fixture) NameOf(namespace, value string) dibs.Name {
	f.T.Helper()
	n, err := f.Get(f.Ctx, dibs.Lookup{Namespace: namespace, Value: value})
	if err != nil {
		f.T.Fatal(err)
	}
	return n
}

// WantKinds checks the kinds of a name's events, oldest first. The test continues if it fails.
func (f *Fixture) WantKinds(namespace, value string, want ...dibs.EventKind) {
	f.T.Helper()
	if got := f.KindsOf(namespace, value); !slices.Equal(got, want) {
		f.T.Errorf("the history of %s:%s is %v, want %v", namespace, value, got, want)
	}
}

// WantState checks the state of a name. A name without a row is free.
func (f *Fixture) WantState(namespace, value string, want dibs.State) {
	f.T.Helper()
	n, err := f.Get(f.Ctx, dibs.Lookup{Namespace: namespace, Value: value})
	if errors.Is(err, dibs.ErrNotFound) {
		n.State, err = dibs.Free, nil
	}
	if err != nil {
		f.T.Fatal(err)
	}
	if n.State != want {
		f.T.Fatalf("%s:%s is %s, want %s", namespace, value, n.State, want)
	}
}

// WantResolve checks what a name resolves to: a status, and for a redirect the canonical form of
// its target.
func (f *Fixture) WantResolve(namespace, value string, status int, to string) {
	f.T.Helper()
	r, err := f.Resolve(f.Ctx, namespace, value)
	if err != nil {
		f.T.Fatal(err)
	}
	var got string
	if r.To != nil {
		got = r.To.Canonical
	}
	if r.Status != status || got != to {
		f.T.Fatalf("%s:%s resolves to %d %q, want %d %q", namespace, value, r.Status, got, status, to)
	}
}

// WantActive checks an entity's active names, in the order of Entity, and that the entity's
// record lists the same ones. The test continues if it fails.
func (f *Fixture) WantActive(entity dibs.Entity, want ...string) {
	f.T.Helper()
	loaded, err := f.Engine.Load(f.Ctx, []dibs.Ref{{Kind: dibs.KindEntity, ID: dibs.EntityID("", entity)}})
	if err != nil || len(loaded.Records) != 1 {
		f.T.Fatal(err, len(loaded.Records))
	}
	var noted []dibs.ID
	for _, id := range loaded.Records[0].(*dibs.EntityRecord).Active {
		noted = append(noted, id)
	}
	info, err := f.Entity(f.Ctx, "", entity)
	if err != nil {
		f.T.Fatal(err)
	}
	var active []string
	for _, n := range info.Names {
		if n.State == dibs.Active {
			active = append(active, n.Canonical)
			if !slices.Contains(noted, n.ID) {
				f.T.Errorf("%s is active, but the record of its entity does not list it", n.Canonical)
			}
		}
	}
	if len(noted) != len(active) || !slices.Equal(active, want) {
		f.T.Errorf("%s has the active names %q, want %q; its record lists %d", entity, active, want, len(noted))
	}
}

// WantNoTrace checks that the engine stores a text nowhere. The test continues if it fails.
func (f *Fixture) WantNoTrace(text string) {
	f.T.Helper()
	for _, trace := range f.Traces(text) {
		f.T.Errorf("still stored: %s", trace)
	}
}

// Traces returns everything that the engine stores about a text in lower case.
func (f *Fixture) Traces(text string) (found []string) {
	f.T.Helper()
	all := f.Dump()
	entities, err := f.Engine.Load(f.Ctx, []dibs.Ref{
		{Kind: dibs.KindEntity, ID: dibs.EntityID("", Alice)}, {Kind: dibs.KindEntity, ID: dibs.EntityID("", User2)},
	})
	if err != nil {
		f.T.Fatal(err)
	}
	var stored []any
	for _, r := range slices.Concat(all.Records, entities.Records) {
		if d, ok := r.(*dibs.Document); ok {
			stored = append(stored, string(d.Data))
		}
		stored = append(stored, r)
	}
	for _, e := range all.Events {
		stored = append(stored, e)
	}
	for _, thing := range stored {
		written, err := json.Marshal(thing)
		if err != nil {
			f.T.Fatal(err)
		}
		if strings.Contains(strings.ToLower(string(written)), text) {
			found = append(found, string(written))
		}
	}
	return found
}
