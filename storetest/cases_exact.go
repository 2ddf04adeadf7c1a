package storetest

import (
	"fmt"

	"github.com/calldibs/dibs"
)

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
