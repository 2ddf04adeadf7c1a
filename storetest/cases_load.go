package storetest

import (
	"fmt"
	"time"

	"github.com/calldibs/dibs"
)

func loadSnapshot(e *env) {
	owner := dibs.Entity{Type: "user", ID: "1"}
	revision := func(rev uint64) []dibs.Record {
		n, r, d := name("slug", "a", dibs.Held), entity("", owner), document(dibs.KindQuota, "a")
		n.Rev, r.Rev, d.Rev = rev, rev, rev
		return []dibs.Record{n, r, d}
	}
	e.commit(create(revision(1)...))
	handles := e.handles()
	refs := refsOf(revision(1)...)
	e.whileWriting(func(round int) error {
		from, to := revision(uint64(round)+1), revision(uint64(round)+2)
		return mustCommit(e.Context(), handles[0],
			join(update(from[0], to[0]), update(from[1], to[1]), update(from[2], to[2])))
	}, func(round int) error {
		found, err := loadAll(e.Context(), handles[round%len(handles)], refs...)
		if err != nil {
			return err
		}
		if len(found) != len(refs) {
			return fmt.Errorf("Load found %d of %d existing records", len(found), len(refs))
		}
		rev := found[refs[0]].Revision()
		for _, record := range found {
			if record.Revision() != rev {
				return fmt.Errorf("Load saw revisions %d and %d of records that always change together: it must see one moment",
					rev, record.Revision())
			}
		}
		return nil
	})
}

func loadFresh(e *env) {
	handles := e.handles()
	n := name("slug", "a", dibs.Active)
	e.commit(create(n))
	for i := range 30 {
		var g dibs.Group
		g, n = touch(n)
		if err := mustCommit(e.Context(), handles[i%len(handles)], g); err != nil {
			e.Fatalf("%v", err)
		}
		for _, handle := range handles {
			found, err := loadAll(e.Context(), handle, n.Ref())
			if err != nil {
				e.Fatalf("%v", err)
			}
			got, ok := found[n.Ref()]
			if !ok {
				e.Fatalf("%s is absent after a Commit of it has returned", describe(n))
			}
			if got.Revision() != n.Rev {
				e.Fatalf("Load saw revision %d after the Commit of revision %d had returned", got.Revision(), n.Rev)
			}
		}
	}
}

func loadFreshTogether(e *env) {
	handles := e.handles()
	e.together(8, func(i int) error {
		for round := range 10 {
			n := name("slug", fmt.Sprintf("%d-%d", i, round), dibs.Held)
			if err := mustCommit(e.Context(), handles[i%len(handles)], claim(n)); err != nil {
				return err
			}
			found, err := loadAll(e.Context(), handles[(i+round)%len(handles)], n.Ref())
			if err != nil {
				return err
			}
			if found[n.Ref()] == nil {
				return fmt.Errorf("Load does not see %s after its Commit has returned", describe(n))
			}
		}
		return nil
	})
}

func loadKind(e *env) {
	n := name("slug", "a", dibs.Active)
	r := entity("", dibs.Entity{Type: "user", ID: "1"})
	quota, tally := document(dibs.KindQuota, "a"), document(dibs.KindTally, "a")
	like := document(dibs.KindNamespace, "a")
	tally.ID, tally.Data = quota.ID, []byte("other")
	like.ID = n.ID // a document with the ID of a name
	e.commit(create(n, r, quota))
	e.lacks(tally, like)
	e.commit(create(tally, like))
	e.has(n, r, quota, tally, like)

	e.commit(remove(quota))
	e.lacks(quota)
	e.has(n, r, tally, like)

	// A revision counts only for its own kind.
	tally2 := *tally
	tally2.Rev = 2
	e.commit(update(tally, &tally2))
	e.commit(remove(like))
	e.has(n, &tally2)
}

func loadUnknownKind(e *env) {
	var records []dibs.Record
	for _, kind := range []dibs.Kind{"storetest", "Storetest", "storetest2", "x", "names", "key-of-an-api"} {
		for _, label := range []string{"1", "2"} {
			records = append(records, document(kind, label))
		}
	}
	e.commit(create(records...))
	e.has(records...)
}

func loadAbsent(e *env) {
	a, b, gone := name("slug", "a", dibs.Held), document(dibs.KindTally, "b"), name("slug", "gone", dibs.Held)
	e.commit(create(a, b, gone))
	e.commit(remove(gone))
	never := name("slug", "never", dibs.Held)
	if found := e.load(); len(found) != 0 {
		e.Fatalf("Load of nothing found %d records", len(found))
	}
	// load fails if Load answers one ref inconsistently.
	found := e.load(never.Ref(), a.Ref(), gone.Ref(), a.Ref(), b.Ref(), a.Ref(), never.Ref())
	if len(found) != 2 || found[a.Ref()] == nil || found[b.Ref()] == nil {
		e.Fatalf("Load found %v, it must find the two existing records and leave out the others", found)
	}
}

func loadMany(e *env) {
	const there, asked = 200, 2000
	var refs []dibs.Ref
	var records []dibs.Record
	for i := range asked {
		n := name("slug", fmt.Sprint(i), dibs.Held)
		refs = append(refs, n.Ref())
		if i%(asked/there) == 0 {
			records = append(records, n)
		}
	}
	e.commit(create(records...))
	if found := e.load(refs...); len(found) != there {
		e.Fatalf("Load found %d of %d refs, it must find the %d that exist", len(found), asked, there)
	}
	e.has(records...)
}

func loadNow(e *env) {
	n := name("slug", "a", dibs.Held)
	for i, step := range []time.Duration{0, time.Millisecond, 999 * time.Microsecond, 24 * time.Hour, -time.Hour} {
		e.clock.Advance(step)
		snapshots, err := e.store.Load(e.Context(), refsOf(n))
		if err != nil {
			e.Fatalf("Load: %v", err)
		}
		if snapshots.Now != e.now() {
			e.Fatalf("Now is %d, the engine's clock says %d", snapshots.Now, e.now())
		}
		// Commit must agree that now is this millisecond.
		only := dibs.Window{From: snapshots.Now, Before: snapshots.Now + 1}
		e.commit(join(create(document(dibs.KindTally, fmt.Sprint(i))), within(only)))
	}
}

// fullName makes a name with all fields set.
func fullName(namespace, canonical string, s standing) *dibs.NameRecord {
	n := fill(new(dibs.NameRecord))
	n.Namespace, n.Scope, n.Canonical = namespace, dibs.ScopeOf(namespace), canonical
	n.ID = dibs.NameID(namespace, canonical)
	n.State, n.Status = s.state, s.status
	return n
}

// fullEntity makes an entity with all fields set.
func fullEntity() *dibs.EntityRecord {
	r := fill(new(dibs.EntityRecord))
	r.Scope = "acme.eu"
	r.ID = dibs.EntityID(r.Scope, r.Entity)
	return r
}

func exactNames(e *env) {
	for i, s := range standings {
		full := fullName("acme.slug", fmt.Sprintf("full %d", i), s)
		bare := name("slug", fmt.Sprintf("bare %d", i), s.state)
		bare.Status = s.status
		e.commit(create(full, bare))
		e.has(full, bare)
	}
}

func exactEntities(e *env) {
	full, bare := fullEntity(), entity("", dibs.Entity{Type: "user", ID: "1"})
	e.commit(create(full, bare))
	e.has(full, bare)
	var odd []dibs.Record
	for _, value := range oddValues {
		if len(value) < 256 {
			odd = append(odd, entity("acme", dibs.Entity{Type: value, ID: "1"}), entity("acme", dibs.Entity{Type: "type", ID: value}))
		}
	}
	e.commit(create(odd...))
	e.has(odd...)
}

func exactDocuments(e *env) {
	full := fill(new(dibs.Document))
	full.Kind = dibs.KindQuota
	var everyByte [256]byte
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	records := []dibs.Record{full}
	for i, data := range [][]byte{nil, {}, {0}, everyByte[:], []byte("{\"b\": 1,  \"a\": 1.0}"), make([]byte, 1<<16)} {
		d := document(dibs.KindTally, fmt.Sprint(i))
		d.Scope, d.Data = "acme", data
		records = append(records, d)
	}
	for _, value := range oddValues {
		records = append(records, document("storetest", value))
	}
	e.commit(create(records...))
	e.has(records...)
}

func exactValues(e *env) {
	// All of them are separate active names in one namespace: a unique index that
	// treats two of them as equal refuses the second.
	var records []dibs.Record
	for _, value := range oddValues {
		n := name("slug", value, dibs.Active)
		if len(value) < 256 {
			n.Value = value + " as written"
			n.Owner = dibs.Entity{Type: "user", ID: value}
		}
		records = append(records, n)
	}
	for _, record := range records {
		e.commit(create(record))
	}
	e.has(records...)

	// Each can be deleted without the others.
	e.commit(remove(records[0]))
	e.lacks(records[0])
	e.has(records[1:]...)
}

func exactEmptied(e *env) {
	n := fullName("acme.slug", "a", standing{dibs.Held, dibs.StatusReserved})
	bare := name("acme.slug", "a", dibs.Free)
	bare.Rev = n.Rev + 1
	d := document(dibs.KindNamespace, "a")
	d.Due = e.now()
	d2 := *d
	d2.Rev, d2.Data, d2.Due = d.Rev+1, nil, 0
	r := fullEntity()
	r2 := entity(r.Scope, r.Entity)
	r2.Rev = r.Rev + 1
	e.commit(create(n, d, r))
	e.commit(join(update(n, bare), update(d, &d2), update(r, r2)))
	e.has(bare, &d2, r2)
}
