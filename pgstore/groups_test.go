package pgstore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
)

// scenario is groups to commit together, and what must exist before.
type scenario struct {
	before []dibs.Group
	groups []dibs.Group
}

var scenarioNames = []string{"new names", "mixed"}

// newScenario makes a scenario whose names begin with a prefix, so that one schema can have several.
func newScenario(name, prefix string) scenario {
	if name == "new names" {
		var s scenario
		for i := range 3 {
			s.groups = append(s.groups, reserving(fmt.Sprint(prefix, "-new-", i)))
		}
		return s
	}
	return mixed(prefix)
}

// mixed has all kinds of changes: a confirmed hold, a name that yields to another of its entity, a
// deleted name, documents, and a reservation.
func mixed(prefix string) scenario {
	var (
		owner   = user(prefix)
		other   = user(prefix + "-other")
		hold    = heldName(prefix + "-hold")
		old     = ownedName(prefix+"-old", owner)
		gone    = freeName(prefix + "-gone")
		shared  = document(prefix + "-shared")
		changed = document(prefix + "-changed")
		removed = document(prefix + "-removed")
		entity  = entityRecord(owner)
	)
	confirmed := next(hold, func(n *dibs.NameRecord) {
		n.State, n.Status, n.Owner, n.ConfirmedAt = dibs.Active, dibs.StatusConfirmed, other, 2
	})
	alias := next(old, func(n *dibs.NameRecord) { n.State = dibs.Alias })
	entity2, changed2 := *entity, *changed
	entity2.Rev, changed2.Rev = 2, 2
	return scenario{
		before: []dibs.Group{creating(hold), creating(old), creating(gone), creating(shared, changed, removed), creating(entity)},
		groups: []dibs.Group{
			group(replacing(hold, confirmed), inserting(entityRecord(other)), event(dibs.EventConfirmed, confirmed)),
			group(
				replacing(entity, &entity2), yielding(old, alias), inserting(ownedName(prefix+"-new", owner)),
				event(dibs.EventDemoted, alias), event(dibs.EventClaimed, ownedName(prefix+"-new", owner)),
			),
			group(deleting(gone)),
			group(reading(shared), replacing(changed, &changed2), deleting(removed), inserting(document(prefix+"-document"))),
			reserving(prefix + "-reserved"),
		},
	}
}

// play commits what a scenario needs.
func (r *rig) play(s scenario) scenario {
	r.Helper()
	if len(s.before) > 0 {
		r.mustCommit(s.before...)
	}
	return s
}

func user(id string) dibs.Entity { return dibs.Entity{Type: "user", ID: id} }

func heldName(canonical string) *dibs.NameRecord {
	return &dibs.NameRecord{
		ID: dibs.NameID("slug", canonical), Rev: 1, Namespace: "slug", Value: canonical, Canonical: canonical, Profile: "exact/1",
		State: dibs.Held, Status: dibs.StatusReserved, Epoch: 1, CreatedAt: 1,
		Token: dibs.TokenHash{1}, ExpiresAt: dibs.Instant(time.Now().Add(time.Hour).UnixMilli()),
	}
}

func freeName(canonical string) *dibs.NameRecord {
	n := heldName(canonical)
	n.State, n.Status, n.EndedAt = dibs.Free, dibs.StatusReleased, 2
	return n
}

func ownedName(canonical string, owner dibs.Entity) *dibs.NameRecord {
	n := heldName(canonical)
	n.State, n.Status, n.Owner, n.ConfirmedAt = dibs.Active, dibs.StatusConfirmed, owner, 1
	n.Token, n.ExpiresAt = dibs.TokenHash{}, 0
	return n
}

func entityRecord(who dibs.Entity) *dibs.EntityRecord {
	return &dibs.EntityRecord{ID: dibs.EntityID("", who), Rev: 1, Entity: who}
}

func document(label string) *dibs.Document {
	return &dibs.Document{Kind: dibs.KindTally, ID: dibs.NameID("tally", label), Rev: 1, Label: label, Data: []byte(label)}
}

func next(n *dibs.NameRecord, change func(*dibs.NameRecord)) *dibs.NameRecord {
	c := *n
	c.Rev++
	change(&c)
	return &c
}

// part adds a read, a change or an event to a group.
type part func(g *dibs.Group)

func group(parts ...part) (g dibs.Group) {
	for _, add := range parts {
		add(&g)
	}
	return g
}

func reading(record dibs.Record) part {
	return func(g *dibs.Group) {
		g.Reads = append(g.Reads, dibs.Read{Ref: record.Ref(), Rev: record.Revision()})
	}
}

func writing(read dibs.Read, write dibs.Write) part {
	return func(g *dibs.Group) { g.Reads, g.Writes = append(g.Reads, read), append(g.Writes, write) }
}

func inserting(record dibs.Record) part {
	return writing(dibs.Read{Ref: record.Ref()}, dibs.Write{Record: record})
}

func replacing(from, to dibs.Record) part {
	return writing(dibs.Read{Ref: from.Ref(), Rev: from.Revision()}, dibs.Write{Record: to})
}

func yielding(from, to dibs.Record) part {
	return writing(dibs.Read{Ref: from.Ref(), Rev: from.Revision()}, dibs.Write{Record: to, Yields: true})
}

func deleting(record dibs.Record) part {
	return writing(dibs.Read{Ref: record.Ref(), Rev: record.Revision()}, dibs.Write{Record: record, Delete: true})
}

func event(kind dibs.EventKind, n *dibs.NameRecord) part {
	return func(g *dibs.Group) {
		g.Events = append(g.Events, dibs.Event{
			Kind: kind, At: n.CreatedAt, ID: n.ID, Namespace: n.Namespace, Canonical: n.Canonical, Value: n.Value,
			Rev: n.Rev, Epoch: n.Epoch, Entity: n.Owner,
			After: dibs.Snapshot{State: n.State, Status: n.Status, Epoch: n.Epoch, Entity: n.Owner},
		})
	}
}

// creating inserts records, with events of the names.
func creating(records ...dibs.Record) dibs.Group {
	var parts []part
	for _, record := range records {
		parts = append(parts, inserting(record))
		if n, ok := record.(*dibs.NameRecord); ok {
			parts = append(parts, event(dibs.EventReserved, n))
		}
	}
	return group(parts...)
}

func reserving(canonical string) dibs.Group { return creating(heldName(canonical)) }

// committed reports whether the changes of a group are there. Half of them is an error.
func (r *rig) committed(g *dibs.Group) bool {
	r.Helper()
	refs := make([]dibs.Ref, len(g.Writes))
	for i := range g.Writes {
		refs[i] = g.Writes[i].Record.Ref()
	}
	loaded, err := r.store.Load(context.Background(), refs)
	if err != nil {
		r.Fatal(err)
	}
	revs := make(map[dibs.ID]uint64)
	for _, record := range loaded.Records {
		revs[record.Ref().ID] = record.Revision()
	}
	done, parts := 0, 0
	count := func(found bool) {
		if parts++; found {
			done++
		}
	}
	for i := range g.Writes {
		w := &g.Writes[i]
		count(w.Delete && revs[refs[i].ID] == 0 || !w.Delete && revs[refs[i].ID] == w.Record.Revision())
	}
	for i := range g.Events {
		count(r.hasEvent(&g.Events[i]))
	}
	if done != 0 && done != parts {
		r.Errorf("%d of %d changes of a group are there", done, parts)
	}
	return done == parts
}

// hasEvent reports whether an event is in the history of its name, once.
func (r *rig) hasEvent(e *dibs.Event) bool {
	r.Helper()
	history, err := r.store.Events(context.Background(), dibs.EventQuery{Name: e.ID, Limit: 100})
	if err != nil {
		r.Fatal(err)
	}
	found := 0
	for i := range history {
		if history[i].Rev == e.Rev {
			found++
		}
	}
	if found > 1 {
		r.Errorf("revision %d of %s has %d events", e.Rev, e.Key(), found)
	}
	return found == 1
}
