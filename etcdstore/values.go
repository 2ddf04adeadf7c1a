package etcdstore

import (
	"bytes"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
)

// layout is the version of keys and values. It is on record, and each value begins with
// its own.
const layout = 1

// encode returns a record's value. What its key tells is not in it.
func encode(record dibs.Record) []byte {
	e := &encoder{data: make([]byte, 0, 160)}
	e.uint(layout)
	e.uint(record.Revision())
	switch r := record.(type) {
	case *dibs.NameRecord:
		encodeName(e, r)
	case *dibs.EntityRecord:
		encodeEntity(e, r)
	case *dibs.Document:
		e.text(r.Scope)
		e.text(r.Label)
		e.date(r.Due)
		e.bytes(r.Data)
	}
	return e.data
}

// decode reads the value of a record.
func decode(kind dibs.Kind, id dibs.ID, value []byte) (dibs.Record, error) {
	d := &decoder{data: value}
	if version := d.uint(); version != layout {
		return nil, fmt.Errorf("%w: the %s %s has version %d, this program knows %d", errDamaged, kind, id, version, layout)
	}
	rev := d.uint()
	var record dibs.Record
	switch kind {
	case dibs.KindName:
		record = decodeName(d, id, rev)
	case dibs.KindEntity:
		record = decodeEntity(d, id, rev)
	default:
		record = &dibs.Document{
			Kind: kind, ID: id, Rev: rev,
			Scope: d.text(), Label: d.text(), Due: d.date(), Data: bytes.Clone(d.bytes()),
		}
	}
	if d.err != nil {
		return nil, fmt.Errorf("%w: the %s %s", d.err, kind, id)
	}
	return record, nil
}

func encodeName(e *encoder, n *dibs.NameRecord) {
	e.text(n.Namespace)
	e.text(n.Canonical)
	e.flags(n.Value == n.Canonical, n.Established, n.Terms.Witnessed, n.Terms.Many, n.Terms.Counted)
	if n.Value != n.Canonical {
		e.text(n.Value)
	}
	e.text(n.Profile)
	e.text(string(n.State))
	e.text(string(n.Status))
	e.uint(n.Epoch)
	for _, date := range []dibs.Instant{n.CreatedAt, n.ExpiresAt, n.AskAt, n.ConfirmedAt, n.EndedAt, n.Until, n.Due} {
		e.date(date)
	}
	e.bytes(withoutZero(n.Token[:]))
	e.text(n.Principal)
	e.entity(n.Intended)
	e.text(n.CorrelationID)
	e.meta(n.Meta)
	e.int(int64(n.Asked))
	e.text(n.Doubt)
	e.entity(n.Owner)
	e.bytes(withoutZero(n.Line[:]))
	e.int(n.Terms.Quarantine.Milliseconds())
	e.int(n.Terms.HoldHistory.Milliseconds())
	e.bytes(dibs.EncodeLinks(n.Links))
	e.bytes(dibs.EncodeSpent(n.Spent))
}

func decodeName(d *decoder, id dibs.ID, rev uint64) *dibs.NameRecord {
	n := &dibs.NameRecord{ID: id, Rev: rev, Namespace: d.text(), Canonical: d.text()}
	n.Scope = dibs.ScopeOf(n.Namespace)
	var plain bool
	d.flags(&plain, &n.Established, &n.Terms.Witnessed, &n.Terms.Many, &n.Terms.Counted)
	if n.Value = n.Canonical; !plain {
		n.Value = d.text()
	}
	n.Profile = d.text()
	n.State, n.Status = dibs.State(d.text()), dibs.Status(d.text())
	n.Epoch = d.uint()
	for _, date := range []*dibs.Instant{&n.CreatedAt, &n.ExpiresAt, &n.AskAt, &n.ConfirmedAt, &n.EndedAt, &n.Until, &n.Due} {
		*date = d.date()
	}
	copy(n.Token[:], d.bytes())
	n.Principal = d.text()
	n.Intended = d.entity()
	n.CorrelationID = d.text()
	n.Meta = d.meta()
	n.Asked = int(d.int())
	n.Doubt = d.text()
	n.Owner = d.entity()
	copy(n.Line[:], d.bytes())
	n.Terms.Quarantine = time.Duration(d.int()) * time.Millisecond
	n.Terms.HoldHistory = time.Duration(d.int()) * time.Millisecond
	var err error
	if n.Links, err = dibs.DecodeLinks(d.bytes()); err != nil {
		d.fail()
	}
	if n.Spent, err = dibs.DecodeSpent(d.bytes()); err != nil {
		d.fail()
	}
	return n
}

func encodeEntity(e *encoder, r *dibs.EntityRecord) {
	e.text(r.Scope)
	e.entity(r.Entity)
	e.flags(r.Archived, r.Deleted)
	e.date(r.Due)
	e.uint(uint64(len(r.Active)))
	for slot, id := range r.Active {
		e.text(slot)
		e.bytes(id[:])
	}
}

func decodeEntity(d *decoder, id dibs.ID, rev uint64) *dibs.EntityRecord {
	r := &dibs.EntityRecord{ID: id, Rev: rev, Scope: d.text(), Entity: d.entity()}
	d.flags(&r.Archived, &r.Deleted)
	r.Due = d.date()
	n := d.uint()
	if n > uint64(len(d.data)) {
		d.fail()
	}
	if n == 0 || d.err != nil {
		return r
	}
	r.Active = make(map[string]dibs.ID, n)
	for range n {
		slot := d.text()
		var active dibs.ID
		copy(active[:], d.bytes())
		r.Active[slot] = active
	}
	return r
}

// encodeEvent returns an event's value; its name's id is in its key.
func encodeEvent(event *dibs.Event) ([]byte, error) {
	body, err := event.EncodeBody()
	if err != nil {
		return nil, err
	}
	e := &encoder{data: make([]byte, 0, 64+len(body))}
	e.uint(layout)
	e.text(string(event.Kind))
	e.date(event.At)
	e.text(event.Namespace)
	e.uint(event.Rev)
	e.bytes(body)
	return e.data, nil
}

func decodeEvent(name dibs.ID, value []byte) (event dibs.Event, err error) {
	d := &decoder{data: value}
	if version := d.uint(); version != layout {
		return event, fmt.Errorf("%w: an event of %s has version %d, this program knows %d", errDamaged, name, version, layout)
	}
	event = dibs.Event{ID: name, Kind: dibs.EventKind(d.text()), At: d.date(), Namespace: d.text(), Rev: d.uint()}
	body := d.bytes()
	if d.err != nil {
		return event, fmt.Errorf("%w: an event of %s", d.err, name)
	}
	return event, event.DecodeBody(body)
}

// withoutZero leaves out an array that has nothing in it.
func withoutZero(b []byte) []byte {
	if len(bytes.Trim(b, nul)) == 0 {
		return nil
	}
	return b
}

// dueOf returns a record's Due date.
func dueOf(record dibs.Record) dibs.Instant {
	switch r := record.(type) {
	case *dibs.NameRecord:
		return r.Due
	case *dibs.EntityRecord:
		return r.Due
	case *dibs.Document:
		return r.Due
	}
	return 0
}
