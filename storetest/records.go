package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

// standing is a valid pair of state and status.
type standing struct {
	state  dibs.State
	status dibs.Status
}

// standings are all valid pairs: engines may refuse others.
var standings = []standing{
	{dibs.Held, dibs.StatusReserved},
	{dibs.Suspect, dibs.StatusSuspect},
	{dibs.Active, dibs.StatusConfirmed},
	{dibs.Alias, dibs.StatusConfirmed},
	{dibs.Quarantined, dibs.StatusReleased},
	{dibs.Quarantined, dibs.StatusExpired},
	{dibs.Free, dibs.StatusReleased},
	{dibs.Free, dibs.StatusExpired},
}

// statusOf returns a status that goes with a state.
func statusOf(state dibs.State) dibs.Status {
	for _, s := range standings {
		if s.state == state {
			return s.status
		}
	}
	panic(fmt.Sprintf("storetest: no status for state %q", state))
}

// name makes a new name with only the fields that its state needs. Its owner, if
// any, is an entity that owns no other name.
func name(namespace, canonical string, state dibs.State) *dibs.NameRecord {
	id := dibs.NameID(namespace, canonical)
	n := &dibs.NameRecord{
		ID: id, Rev: 1, Namespace: namespace, Scope: dibs.ScopeOf(namespace),
		Value: canonical, Canonical: canonical, Profile: "exact/1",
		State: state, Status: statusOf(state), Epoch: 1, CreatedAt: dibs.InstantOf(epoch),
	}
	switch state {
	case dibs.Held, dibs.Suspect:
		n.Token = dibs.TokenHash{1}
		n.ExpiresAt = n.CreatedAt.Add(time.Hour)
	case dibs.Active, dibs.Alias, dibs.Quarantined:
		n.Owner = dibs.Entity{Type: "user", ID: id.String()}
		n.ConfirmedAt = n.CreatedAt
		n.Established = true
	case dibs.Free: // has no owner
	}
	if state == dibs.Quarantined {
		n.Until = n.CreatedAt.Add(time.Hour)
	}
	return n
}

// ownedBy makes a new name of an entity.
func ownedBy(owner dibs.Entity, namespace, canonical string, state dibs.State) *dibs.NameRecord {
	n := name(namespace, canonical, state)
	n.Owner = owner
	return n
}

// next returns a name's next revision, with a change.
func next(n *dibs.NameRecord, change func(n *dibs.NameRecord)) *dibs.NameRecord {
	c := *n
	c.Rev++
	if change != nil {
		change(&c)
	}
	return &c
}

// entity makes a new record of an entity.
func entity(scope string, owner dibs.Entity) *dibs.EntityRecord {
	return &dibs.EntityRecord{ID: dibs.EntityID(scope, owner), Rev: 1, Scope: scope, Entity: owner}
}

// document makes a new document. Its ID follows from kind and label.
func document(kind dibs.Kind, label string) *dibs.Document {
	return &dibs.Document{
		Kind: kind, ID: dibs.NameID(string(kind), label), Rev: 1,
		Label: label, Data: []byte(label),
	}
}

// happened makes the event of a name's current revision.
func happened(kind dibs.EventKind, n *dibs.NameRecord) dibs.Event {
	return dibs.Event{
		Kind: kind, At: n.CreatedAt,
		ID: n.ID, Namespace: n.Namespace, Canonical: n.Canonical, Value: n.Value,
		Rev: n.Rev, Epoch: n.Epoch, Scope: n.Scope, Entity: n.Owner,
		After: dibs.Snapshot{State: n.State, Status: n.Status, Epoch: n.Epoch, Entity: n.Owner},
	}
}

// aboutEntity makes the event of an entity's current revision.
func aboutEntity(kind dibs.EventKind, r *dibs.EntityRecord) dibs.Event {
	return dibs.Event{Kind: kind, At: dibs.InstantOf(epoch), Scope: r.Scope, Entity: r.Entity, Version: r.Rev}
}

// refsOf returns the refs of records.
func refsOf(records ...dibs.Record) []dibs.Ref {
	refs := make([]dibs.Ref, len(records))
	for i, record := range records {
		refs[i] = record.Ref()
	}
	return refs
}

// create makes a group that stores absent records.
func create(records ...dibs.Record) dibs.Group {
	var g dibs.Group
	for _, record := range records {
		g.Reads = append(g.Reads, dibs.Read{Ref: record.Ref()})
		g.Writes = append(g.Writes, dibs.Write{Record: record, Was: stateBefore(record.Ref().Kind, nil)})
	}
	return g
}

// stateBefore returns the state of a record before a group: that of a name, also of an absent
// one, and none of other records.
func stateBefore(kind dibs.Kind, before dibs.Record) dibs.State {
	name, isName := before.(*dibs.NameRecord)
	switch {
	case isName:
		return name.State
	case before == nil && kind == dibs.KindName:
		return dibs.Free
	}
	return ""
}

// update makes a group that replaces a record.
func update(from, to dibs.Record) dibs.Group {
	return dibs.Group{Reads: reading(from).Reads, Writes: []dibs.Write{{Record: to, Was: stateBefore(dibs.KindName, from)}}}
}

// yield makes a group that replaces a name that stops being its entity's active
// one.
func yield(from, to *dibs.NameRecord) dibs.Group {
	return dibs.Group{Reads: reading(from).Reads, Writes: []dibs.Write{{Record: to, Yields: true, Was: from.State}}}
}

// renew makes a group that stores a record in place of another with the same ID.
func renew(from, to dibs.Record) dibs.Group {
	return dibs.Group{Reads: reading(from).Reads, Writes: []dibs.Write{{Record: to, Renew: true, Was: stateBefore(dibs.KindName, from)}}}
}

// remove makes a group that deletes records.
func remove(records ...dibs.Record) dibs.Group {
	g := reading(records...)
	for _, record := range records {
		g.Writes = append(g.Writes, dibs.Write{Record: record, Delete: true, Was: stateBefore(dibs.KindName, record)})
	}
	return g
}

// reading makes a group that reads records and writes nothing.
func reading(records ...dibs.Record) dibs.Group {
	var g dibs.Group
	for _, record := range records {
		g.Reads = append(g.Reads, dibs.Read{Ref: record.Ref(), Rev: record.Revision()})
	}
	return g
}

// telling makes a group of events, to be joined to another.
func telling(events ...dibs.Event) dibs.Group { return dibs.Group{Events: events} }

// within makes a group with a window, to be joined to another.
func within(window dibs.Window) dibs.Group { return dibs.Group{Window: window} }

// join makes one group of several. At most one of them has a window.
func join(groups ...dibs.Group) dibs.Group {
	var all dibs.Group
	for _, g := range groups {
		all.Reads = append(all.Reads, g.Reads...)
		all.Writes = append(all.Writes, g.Writes...)
		all.Events = append(all.Events, g.Events...)
		all.Redacts = append(all.Redacts, g.Redacts...)
		if g.Window != (dibs.Window{}) {
			all.Window = g.Window
		}
	}
	return all
}

// claim makes a group that stores a new name, with its event.
func claim(n *dibs.NameRecord) dibs.Group {
	return join(create(n), telling(happened(dibs.EventClaimed, n)))
}

// touch makes a group that replaces a name by its next revision, with its event.
func touch(n *dibs.NameRecord) (dibs.Group, *dibs.NameRecord) {
	n2 := next(n, nil)
	return join(update(n, n2), telling(happened(dibs.EventExtended, n2))), n2
}

// fill sets every exported field of a struct to a non-zero value that no other
// field has. So a case notices a field that is lost, truncated or mixed up with
// another, also one that is added later.
func fill[T any](record *T) *T {
	seed := 0
	fillValue(reflect.ValueOf(record).Elem(), &seed)
	return record
}

func fillValue(v reflect.Value, seed *int) {
	*seed++
	switch v.Type() {
	case reflect.TypeFor[time.Duration]():
		v.SetInt(int64(time.Duration(*seed) * time.Millisecond))
		return
	case reflect.TypeFor[dibs.Instant]():
		v.SetInt(epoch.UnixMilli() + int64(*seed))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf(" No. %d é e\u0301 '\"%%_\\ 😀 ", *seed))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*seed))
	case reflect.Uint8, reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*seed))
	case reflect.Array:
		for i := range v.Len() {
			fillValue(v.Index(i), seed)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fillValue(v.Index(i), seed)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fillValue(key, seed)
			fillValue(value, seed)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fillValue(v.Field(i), seed)
			}
		}
	default:
		panic(fmt.Sprintf("storetest: fill does not support %s", v.Type()))
	}
}

// oddValues are different values that collations, normal forms, escapes, type
// guesses and trimming may treat as equal. A registry that does so gives one name
// to two owners.
var oddValues = []string{
	"name", "Name", "NAME", "nAme",
	" name", "name ", "name  ", "na me", "na  me",
	"name0", "name-0", "name.0", "name:0", "name/0", "name//0", "name_0",

	"caf\u00e9", "cafe\u0301", "cafe", "CAF\u00c9",
	"\u00e5", "a\u030a", "\u212b", // å, decomposed, and the sign for Ångström
	"\ufb01", "fi", "\u00df", "ss", "\u1e9e",
	"i", "I", "\u0130", "\u0131", "i\u0307",
	"\u03c3", "\u03c2", "\u03a3",
	"\u0430", "a", "\uff41", // Cyrillic, Latin and fullwidth a
	"ab", "a\u200bb", "a\u00adb", "a\u200db", "\ufeffab", "a\u00a0b", "a\u2003b",
	"\u202eab", "ab\ufe0f",
	"\U0001f600", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd",

	// In UTF-16 order the last two of these come before the first.
	"\uff5e", "\U00010000", "\U0010fffd",

	"7", "07", "007", "7.0", "+7", "-7", "7e0", "0x7", "1e309", "NaN", "true", "false", "null", "NULL", "nil",
	"'", "''", "\"", "`", "\\", "\\\\", "\\x41", "%", "%%", "_", "?", "*", "$1", ":1", "@a", "a%b", "a_b", "axb",
	"a;b", "a--b", "{}", "[]", "<b>", "&amp;", "&",
	"..", "../a", "/", "~", "!", "z", "Z",

	strings.Repeat("x", 1024), strings.Repeat("x", 1023) + "y", strings.Repeat("x", 1023),
	strings.Repeat("\u00e9", 512), strings.Repeat("\U0001f600", 256),
}

// inByteOrder returns values in the order that the contract demands of listings.
func inByteOrder(values []string) []string {
	return slices.Sorted(slices.Values(values))
}
