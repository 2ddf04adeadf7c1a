package etcdstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
)

// errDamaged is the cause of errors about values that cannot be read.
var errDamaged = errors.New("etcdstore: a value is damaged, or another program has written it")

// coder encodes or decodes a value, field by field: numbers as varints, texts with their
// length before them. One function per kind of value lists its fields for both directions.
// Fields are identified by their order alone. A later version may add fields at the end: they
// are zero in values without them.
//
// Encoding only reads the fields. After the first error of decoding all further fields are
// zero.
type coder struct {
	data     []byte // what was written, or is still to be read
	decoding bool
	err      error
}

func (c *coder) fail() { c.data, c.err = nil, errDamaged }

func (c *coder) uint(n *uint64) {
	if !c.decoding {
		c.data = binary.AppendUvarint(c.data, *n)
		return
	}
	value, size := binary.Uvarint(c.data)
	take(c, n, value, size)
}

// integer codes a signed number.
func integer[T ~int | ~int64](c *coder, n *T) {
	if !c.decoding {
		c.data = binary.AppendVarint(c.data, int64(*n))
		return
	}
	value, size := binary.Varint(c.data)
	take(c, n, T(value), size)
}

// take stores a decoded number of size bytes, or zero at the end of the data.
func take[T any](c *coder, n *T, value T, size int) {
	var zero T
	switch *n = zero; {
	case len(c.data) == 0:
	case size <= 0:
		c.fail()
	default:
		*n, c.data = value, c.data[size:]
	}
}

// count codes the number of elements or bytes that follow.
func (c *coder) count(n int) int {
	size := uint64(n)
	c.uint(&size)
	if c.decoding && size > uint64(len(c.data)) {
		c.fail()
		return 0
	}
	return int(size)
}

// bytes codes bytes. Decoded ones are a part of the value itself, or nil.
func (c *coder) bytes(b *[]byte) {
	n := c.count(len(*b))
	switch {
	case !c.decoding:
		c.data = append(c.data, *b...)
	case n == 0:
		*b = nil
	default:
		*b, c.data = c.data[:n:n], c.data[n:]
	}
}

func text[T ~string](c *coder, s *T) {
	n := c.count(len(*s))
	if !c.decoding {
		c.data = append(c.data, *s...)
		return
	}
	*s, c.data = T(c.data[:n]), c.data[n:]
}

// words are the usual states, statuses and kinds. They are coded as their index plus
// one, so new ones come last.
var words = [...]string{
	"", "free", "held", "suspect", "active", "alias", "quarantined", "reserved", "confirmed", "released", "expired",
	"extended", "claimed", "demoted", "revived", "given_up", "unlocked", "name", "entity",
}

// word codes a text that is mostly one of words.
func word[T ~string](c *coder, s *T) {
	code := uint64(slices.Index(words[:], string(*s)) + 1)
	switch c.uint(&code); {
	case code == 0:
		text(c, s)
	case code > uint64(len(words)):
		c.fail()
	case c.decoding:
		*s = T(words[code-1])
	}
}

// array codes an array. It writes no bytes if all are zero.
func (c *coder) array(array []byte) {
	b := array
	if len(bytes.Trim(array, nul)) == 0 {
		b = nil
	}
	if c.bytes(&b); c.decoding {
		copy(array, b)
	}
}

func (c *coder) flags(flags ...*bool) {
	var bits uint64
	for i, flag := range flags {
		if *flag {
			bits |= 1 << i
		}
	}
	if c.uint(&bits); c.decoding {
		for i, flag := range flags {
			*flag = bits&(1<<i) != 0
		}
	}
}

func (c *coder) millis(d *time.Duration) {
	ms := d.Milliseconds()
	if integer(c, &ms); c.decoding {
		*d = time.Duration(ms) * time.Millisecond
	}
}

func (c *coder) entity(e *dibs.Entity) {
	text(c, &e.Type)
	text(c, &e.ID)
}

// coded codes a map. The function codes a value.
func coded[V any](c *coder, m *map[string]V, value func(*V)) {
	n := c.count(len(*m))
	if !c.decoding {
		for k, v := range *m {
			text(c, &k)
			value(&v)
		}
		return
	}
	if n == 0 || c.err != nil {
		return
	}
	*m = make(map[string]V, n)
	for range n {
		var k string
		var v V
		text(c, &k)
		value(&v)
		(*m)[k] = v
	}
}

// layout is the version of keys and values. It is stored in a key of its own, and every value
// begins with it.
const layout = 2

// version codes the version of a value.
func (c *coder) version() {
	version := uint64(layout)
	if c.uint(&version); version != layout {
		c.fail()
		c.err = fmt.Errorf("%w: it has version %d, this program reads version %d", errDamaged, version, layout)
	}
}

// encode returns the value of a record, for a name without its latest events. It does not
// contain what the key tells.
func encode(record dibs.Record) []byte {
	c := &coder{data: make([]byte, 0, 192)}
	c.record(record)
	return c.data
}

// decode reads the value of a record, and the latest events of a name.
func decode(kind dibs.Kind, id dibs.ID, value []byte) (record dibs.Record, latest recent, err error) {
	switch kind {
	case dibs.KindName:
		record = &dibs.NameRecord{ID: id}
	case dibs.KindEntity:
		record = &dibs.EntityRecord{ID: id}
	default:
		record = &dibs.Document{Kind: kind, ID: id}
	}
	c := &coder{data: value, decoding: true}
	if c.record(record); kind == dibs.KindName {
		c.bytes((*[]byte)(&latest))
	}
	if c.err != nil {
		return nil, nil, fmt.Errorf("%w: %s %s", c.err, kind, id)
	}
	return record, latest, nil
}

func (c *coder) record(record dibs.Record) {
	c.version()
	switch r := record.(type) {
	case *dibs.NameRecord:
		c.uint(&r.Rev)
		c.name(r)
	case *dibs.EntityRecord:
		c.uint(&r.Rev)
		c.entityRecord(r)
	case *dibs.Document:
		c.uint(&r.Rev)
		c.document(r)
	}
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
	word(c, &n.State)
	word(c, &n.Status)
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
	links, spent := dibs.EncodeLinks(n.Links), record.EncodeSpent(n.Spent)
	c.bytes(&links)
	c.bytes(&spent)
	if !c.decoding {
		return
	}
	n.Scope = dibs.ScopeOf(n.Namespace)
	var err error
	if n.Links, err = dibs.DecodeLinks(links); err != nil {
		c.fail()
	}
	if n.Spent, err = record.DecodeSpent(spent); err != nil {
		c.fail()
	}
}

func (c *coder) entityRecord(e *dibs.EntityRecord) {
	text(c, &e.Scope)
	c.entity(&e.Entity)
	c.flags(&e.Archived, &e.Deleted)
	integer(c, &e.Due)
	coded(c, &e.Active, func(id *dibs.ID) { c.array(id[:]) })
}

func (c *coder) document(d *dibs.Document) {
	text(c, &d.Scope)
	text(c, &d.Label)
	integer(c, &d.Due)
	if c.bytes(&d.Data); c.decoding {
		d.Data = bytes.Clone(d.Data)
	}
}

// event codes an event. The event of a name that is stored with its record omits what the
// record tells; of is the record, or nil.
func (c *coder) event(e *dibs.Event, of *dibs.NameRecord) {
	if of == nil {
		of = new(dibs.NameRecord)
	}
	named := e.Namespace == of.Namespace && e.Canonical == of.Canonical
	spelled := e.Value != e.Canonical
	foreign := e.Scope != dibs.ScopeOf(e.Namespace)
	epoch := e.Epoch != e.After.Epoch
	entity := e.Entity != e.After.Entity
	c.version()
	c.flags(&named, &spelled, &foreign, &epoch, &entity)
	word(c, &e.Kind)
	integer(c, &e.At)
	c.uint(&e.Rev)
	c.snapshot(&e.Before)
	c.snapshot(&e.After)
	c.uint(&e.Version)
	text(c, &e.Actor)
	text(c, &e.CorrelationID)
	coded(c, &e.Meta, func(value *string) { text(c, value) })
	if c.decoding {
		e.Namespace, e.Canonical, e.Epoch, e.Entity = of.Namespace, of.Canonical, e.After.Epoch, e.After.Entity
	}
	if !named {
		text(c, &e.Namespace)
		text(c, &e.Canonical)
	}
	if c.decoding {
		e.Value, e.Scope = e.Canonical, dibs.ScopeOf(e.Namespace)
	}
	if spelled {
		text(c, &e.Value)
	}
	if foreign {
		text(c, &e.Scope)
	}
	if epoch {
		c.uint(&e.Epoch)
	}
	if entity {
		c.entity(&e.Entity)
	}
}

func (c *coder) snapshot(s *dibs.Snapshot) {
	word(c, &s.State)
	word(c, &s.Status)
	c.uint(&s.Epoch)
	c.entity(&s.Entity)
	integer(c, &s.Until)
}

func encodeEvent(event *dibs.Event, of *dibs.NameRecord) []byte {
	c := &coder{data: make([]byte, 0, 96)}
	c.event(event, of)
	return c.data
}

func decodeEvent(name dibs.ID, of *dibs.NameRecord, value []byte) (dibs.Event, error) {
	c := &coder{data: value, decoding: true}
	event := dibs.Event{ID: name}
	if c.event(&event, of); c.err != nil {
		return event, fmt.Errorf("%w: an event of %s", c.err, name)
	}
	return event, nil
}
