package etcdstore

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/calldibs/dibs"
)

// Any value of another program is an error, and never a panic.
func FuzzDecode(f *testing.F) {
	name := &dibs.NameRecord{
		Rev: 7, Namespace: "acme.slug", Canonical: "a", Value: "A", State: dibs.Held, Meta: map[string]string{"k": "v"},
		Links: []dibs.Link{{Kind: dibs.LinkHash, ID: dibs.ID{1}}},
		Spent: []dibs.SpentToken{{Epoch: 1, End: 'e', Until: 2}},
	}
	entity := &dibs.EntityRecord{Rev: 1, Active: map[string]dibs.ID{"slug": {2}}}
	document := &dibs.Document{Kind: "x", Rev: 1, Label: "l", Data: []byte{0}}
	for _, record := range []dibs.Record{name, entity, document} {
		value := encode(record)
		f.Add(value)
		f.Add(value[:len(value)/2])
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, kind := range []dibs.Kind{dibs.KindName, dibs.KindEntity, "x"} {
			record, _, err := decode(kind, dibs.ID{3}, value)
			if err != nil {
				continue
			}
			again, _, err := decode(kind, dibs.ID{3}, encode(record))
			if err != nil || again.Revision() != record.Revision() || again.Ref() != record.Ref() {
				t.Errorf("%v reads as %v, %v", record, again, err)
			}
		}
		if event, err := decodeEvent(dibs.ID{3}, nil, value); err == nil {
			again, err := decodeEvent(dibs.ID{3}, nil, encodeEvent(&event, nil))
			if err != nil || !reflect.DeepEqual(again, event) {
				t.Errorf("%v reads as %v, %v", event, again, err)
			}
		}
		for range recent(value).all() { // it ends
		}
	})
}

// A value of a version without spent tokens has none.
func TestValuesWithoutSpentTokens(t *testing.T) {
	t.Parallel()
	name := &dibs.NameRecord{Rev: 7, Namespace: "slug", Canonical: "a", Value: "a", State: dibs.Free, Links: []dibs.Link{{Kind: dibs.LinkHash, ID: dibs.ID{1}}}}
	value := encode(name)
	record, _, err := decode(dibs.KindName, name.ID, value[:len(value)-1]) // without the zero length
	if err != nil || !reflect.DeepEqual(record, name) {
		t.Errorf("it reads as %+v, %v", record, err)
	}
}

// A read from before a commit that arrives after it is ignored.
func TestFootprintsKeepTheLatest(t *testing.T) {
	t.Parallel()
	k := newFootprints()
	k.put("a", footprint{rev: 2, mod: 20})
	k.put("a", footprint{rev: 1, mod: 10})
	if f, ok := k.get("a", 2); !ok {
		t.Errorf("revision %d, want 2", f.rev)
	}
	k.put("a", footprint{rev: 1, mod: 30}) // deleted and created again
	if f, _ := k.get("a", 1); f.mod != 30 {
		t.Errorf("etcd's revision %d, want 30", f.mod)
	}
	k.remove("a")
	if _, ok := k.get("a", 1); ok {
		t.Error("it is still cached")
	}
}

func TestFootprintsAreBounded(t *testing.T) {
	t.Parallel()
	k := newFootprints()
	for i := range 5 * maxFootprints {
		k.put(fmt.Sprint(i), footprint{rev: 1, mod: 1})
	}
	if n := k.byKey.Len(); n > 2*maxFootprints {
		t.Errorf("%d footprints, more than %d", n, 2*maxFootprints)
	}
	if _, ok := k.get(fmt.Sprint(5*maxFootprints-1), 1); !ok {
		t.Error("the last one is missing")
	}
}

// fill sets every field of a struct to something else than its zero value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field)
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"k": "v"}))
	case reflect.Array:
		v.Index(0).SetUint(1)
	case reflect.Int64:
		v.SetInt(-7)
	default:
		v.SetUint(7)
	}
}

// Every field of an event is stored, with its name and alone; also fields that are new.
func TestEventsAreStoredWhole(t *testing.T) {
	t.Parallel()
	var full dibs.Event
	fill(reflect.ValueOf(&full).Elem())
	full.Cursor = "" // it is the key
	usual := dibs.Event{Kind: dibs.EventReserved, Namespace: "acme.slug", Scope: "acme", Canonical: "a", Value: "a", Rev: 1}
	for _, event := range []dibs.Event{{}, usual, full} {
		for _, of := range []*dibs.NameRecord{nil, {Namespace: "acme.slug", Canonical: "a"}} {
			got, err := decodeEvent(event.ID, of, encodeEvent(&event, of))
			if err != nil || !reflect.DeepEqual(got, event) {
				t.Errorf("%+v reads as %+v, %v", event, got, err)
			}
		}
	}
}
