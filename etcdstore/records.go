package etcdstore

import (
	"bytes"
	"fmt"

	"github.com/calldibs/dibs"
)

// layout is the version of keys and values. It is stored in a key of its own, and every value
// begins with it.
const layout = 1

// encode returns the value of a record. It does not contain what the key tells.
func encode(record dibs.Record) []byte {
	c := &coder{data: make([]byte, 0, 160)}
	version, rev := uint64(layout), record.Revision()
	c.uint(&version)
	c.uint(&rev)
	switch r := record.(type) {
	case *dibs.NameRecord:
		c.name(r)
	case *dibs.EntityRecord:
		c.entityRecord(r)
	case *dibs.Document:
		c.document(r)
	}
	return c.data
}

// decode reads the value of a record.
func decode(kind dibs.Kind, id dibs.ID, value []byte) (record dibs.Record, err error) {
	c := &coder{data: value, decoding: true}
	if err := c.version(); err != nil {
		return nil, fmt.Errorf("%w: %s %s", err, kind, id)
	}
	var rev uint64
	c.uint(&rev)
	switch kind {
	case dibs.KindName:
		n := &dibs.NameRecord{ID: id, Rev: rev}
		c.name(n)
		n.Scope = dibs.ScopeOf(n.Namespace)
		record = n
	case dibs.KindEntity:
		e := &dibs.EntityRecord{ID: id, Rev: rev}
		c.entityRecord(e)
		record = e
	default:
		d := &dibs.Document{Kind: kind, ID: id, Rev: rev}
		c.document(d)
		d.Data = bytes.Clone(d.Data)
		record = d
	}
	if c.err != nil {
		return nil, fmt.Errorf("%w: %s %s", c.err, kind, id)
	}
	return record, nil
}

// version reads the version of a value.
func (c *coder) version() error {
	var version uint64
	if c.uint(&version); version != layout {
		return fmt.Errorf("%w: it has version %d, this program reads version %d", errDamaged, version, layout)
	}
	return nil
}

func (c *coder) name(n *dibs.NameRecord) {
	text(c, &n.Namespace)
	text(c, &n.Canonical)
	same := n.Value == n.Canonical
	c.flags(&same, &n.Established, &n.Terms.Witnessed, &n.Terms.Many, &n.Terms.Counted)
	if !same {
		text(c, &n.Value)
	} else if c.decoding {
		n.Value = n.Canonical
	}
	text(c, &n.Profile)
	text(c, &n.State)
	text(c, &n.Status)
	c.uint(&n.Epoch)
	for _, date := range []*dibs.Instant{&n.CreatedAt, &n.ExpiresAt, &n.AskAt, &n.ConfirmedAt, &n.EndedAt, &n.Until, &n.Due} {
		integer(c, date)
	}
	c.array(n.Token[:])
	text(c, &n.Principal)
	c.entity(&n.Intended)
	text(c, &n.CorrelationID)
	coded(c, &n.Meta, func(value *string) { text(c, value) })
	integer(c, &n.Asked)
	text(c, &n.Doubt)
	c.entity(&n.Owner)
	c.array(n.Line[:])
	c.millis(&n.Terms.Quarantine)
	c.millis(&n.Terms.HoldHistory)
	links, spent := dibs.EncodeLinks(n.Links), dibs.EncodeSpent(n.Spent)
	c.bytes(&links)
	c.bytes(&spent)
	if !c.decoding {
		return
	}
	var err error
	if n.Links, err = dibs.DecodeLinks(links); err != nil {
		c.fail()
	}
	if n.Spent, err = dibs.DecodeSpent(spent); err != nil {
		c.fail()
	}
}

func (c *coder) entityRecord(e *dibs.EntityRecord) {
	text(c, &e.Scope)
	c.entity(&e.Entity)
	c.flags(&e.Archived, &e.Deleted)
	integer(c, &e.Due)
	coded(c, &e.Active, func(id *dibs.ID) {
		b := id[:]
		if c.bytes(&b); c.decoding {
			copy(id[:], b)
		}
	})
}

func (c *coder) document(d *dibs.Document) {
	text(c, &d.Scope)
	text(c, &d.Label)
	integer(c, &d.Due)
	c.bytes(&d.Data)
}

func (c *coder) event(e *dibs.Event, body *[]byte) {
	text(c, &e.Kind)
	integer(c, &e.At)
	text(c, &e.Namespace)
	c.uint(&e.Rev)
	c.bytes(body)
}

// encodeEvent returns the value of an event; its key has the id of its name.
func encodeEvent(event *dibs.Event) ([]byte, error) {
	body, err := event.EncodeBody()
	if err != nil {
		return nil, err
	}
	c := &coder{data: make([]byte, 0, 64+len(body))}
	version := uint64(layout)
	c.uint(&version)
	c.event(event, &body)
	return c.data, nil
}

func decodeEvent(name dibs.ID, value []byte) (dibs.Event, error) {
	c := &coder{data: value, decoding: true}
	event := dibs.Event{ID: name}
	if err := c.version(); err != nil {
		return event, fmt.Errorf("%w: an event of %s", err, name)
	}
	var body []byte
	if c.event(&event, &body); c.err != nil {
		return event, fmt.Errorf("%w: an event of %s", c.err, name)
	}
	return event, event.DecodeBody(body)
}
