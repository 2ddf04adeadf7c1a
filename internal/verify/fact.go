package verify

import (
	"encoding/binary"
	"errors"

	"github.com/calldibs/dibs"
)

// A fact is what one record or event says about a name, an entity or a namespace. Facts are sorted,
// so that all about one subject come together, in the order of their tags: this way everything is
// compared with everything in memory that does not grow with the store.
//
// It is encoded as the kind of the subject, its ID, the tag, and what the tag's type has.

// subject is what facts are about.
type subject struct {
	kind byte
	id   dibs.ID
}

// The kinds of subject.
const (
	aboutName      = 'n'
	aboutEntity    = 'e'
	aboutNamespace = 's'
)

// The tags of facts about a name, in the order in which they are compared.
const (
	tagRow    byte = iota + 1 // nameRow: the name's own record
	tagTwin                   // twin: another row has the same key
	tagListed                 // listing: an index entry lists the name
	tagQuota                  // quotaEntry: a quota counts its hold
	tagSlot                   // slotEntry: an entity's record lists it as active
	tagEvent                  // eventFact, in the order of the feed
)

// The tags of facts about an entity.
const (
	tagEntity  byte = iota + 1 // entityRow: its record
	tagOwned                   // ownedName, ordered by namespace
	tagVersion                 // versionFact: an event that concerns it, ordered by version
)

// The tags of facts about a namespace.
const (
	tagRecord byte = iota + 1 // it has a namespace record
	tagUsed                   // it has names
	tagCount                  // countFact: the engine's count of names in a state
	tagRows                   // countFact: the rows in that state
)

// encoder appends the fields of facts. Every field ends by itself.
type encoder []byte

func (e *encoder) begin(about subject, tag byte) {
	*e = append(append((*e)[:0], about.kind), about.id[:]...)
	*e = append(*e, tag)
}

func (e *encoder) text(s string) {
	e.number(uint64(len(s)))
	*e = append(*e, s...)
}

func (e *encoder) number(n uint64)        { *e = binary.AppendUvarint(*e, n) }
func (e *encoder) order(n uint64)         { *e = binary.BigEndian.AppendUint64(*e, n) } // it sorts as bytes
func (e *encoder) instant(i dibs.Instant) { *e = binary.AppendVarint(*e, int64(i)) }
func (e *encoder) id(id dibs.ID)          { *e = append(*e, id[:]...) }

func (e *encoder) flag(set bool) {
	if set {
		*e = append(*e, 1)
	} else {
		*e = append(*e, 0)
	}
}

func (e *encoder) snapshot(s dibs.Snapshot) {
	e.text(string(s.State))
	e.text(string(s.Status))
	e.number(s.Epoch)
	e.text(s.Entity.Type)
	e.text(s.Entity.ID)
	e.instant(s.Until)
}

// decoder reads what encoder wrote. A fact that is cut short sets bad: the temporary file is damaged.
type decoder struct {
	rest []byte
	bad  bool
}

var errDamagedFile = errors.New("a temporary file was damaged while it was used")

func decodeSubject(fact []byte) (about subject, tag byte, d decoder) {
	const head = 1 + len(dibs.ID{}) + 1
	if len(fact) < head {
		return about, 0, decoder{bad: true}
	}
	return subject{fact[0], dibs.ID(fact[1 : head-1])}, fact[head-1], decoder{rest: fact[head:]}
}

func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.rest) {
		d.bad, d.rest = true, nil
		return make([]byte, min(max(n, 0), 16))
	}
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	d.bad = d.bad || size <= 0
	d.take(max(size, 0))
	return n
}

func (d *decoder) instant() dibs.Instant {
	n, size := binary.Varint(d.rest)
	d.bad = d.bad || size <= 0
	d.take(max(size, 0))
	return dibs.Instant(n)
}

func (d *decoder) text() string {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.bad = true
		return ""
	}
	return string(d.take(int(n)))
}

func (d *decoder) order() uint64 { return binary.BigEndian.Uint64(d.take(8)) }
func (d *decoder) id() dibs.ID   { return dibs.ID(d.take(len(dibs.ID{}))) }
func (d *decoder) flag() bool    { return d.take(1)[0] == 1 }

func (d *decoder) snapshot() (s dibs.Snapshot) {
	s.State, s.Status = dibs.State(d.text()), dibs.Status(d.text())
	s.Epoch = d.number()
	s.Entity = dibs.Entity{Type: d.text(), ID: d.text()}
	s.Until = d.instant()
	return s
}

// label is a name as findings show it.
type label struct{ namespace, canonical string }

func (l label) key() string { return l.namespace + ":" + l.canonical }

func (e *encoder) label(l label) {
	e.text(l.namespace)
	e.text(l.canonical)
}

func (d *decoder) label() label { return label{d.text(), d.text()} }

// nameRow is what others say about a name is compared with.
type nameRow struct {
	label
	value string
	rev   uint64
	now   dibs.Snapshot // as its last event must have it

	byHash  bool // its ID is that of a hash under which it is indexed
	slot    string
	owner   dibs.ID // the entity of an active name
	taken   bool    // it is not free, and will not be soon
	quota   string  // the label of the quota that counts its hold; empty if none has to
	counted dibs.Instant
	links   []byte // encoded
}

func (r *nameRow) encode(e *encoder, id dibs.ID) {
	e.begin(subject{aboutName, id}, tagRow)
	e.label(r.label)
	e.text(r.value)
	e.number(r.rev)
	e.snapshot(r.now)
	e.flag(r.byHash)
	e.text(r.slot)
	e.id(r.owner)
	e.flag(r.taken)
	e.text(r.quota)
	e.instant(r.counted)
	e.text(string(r.links))
}

func (d *decoder) nameRow() *nameRow {
	return &nameRow{
		label: d.label(), value: d.text(), rev: d.number(), now: d.snapshot(), byHash: d.flag(), slot: d.text(), owner: d.id(),
		taken: d.flag(), quota: d.text(), counted: d.instant(), links: []byte(d.text()),
	}
}

// eventFact is one event of a name.
type eventFact struct {
	order uint64 // in the feed
	label
	kind          dibs.EventKind
	value         string
	rev, epoch    uint64
	before, after dibs.Snapshot
}

func (f *eventFact) encode(e *encoder, id dibs.ID) {
	e.begin(subject{aboutName, id}, tagEvent)
	e.order(f.order)
	e.label(f.label)
	e.text(string(f.kind))
	e.text(f.value)
	e.number(f.rev)
	e.number(f.epoch)
	e.snapshot(f.before)
	e.snapshot(f.after)
}

func (d *decoder) eventFact() eventFact {
	return eventFact{
		order: d.order(), label: d.label(), kind: dibs.EventKind(d.text()), value: d.text(), rev: d.number(), epoch: d.number(),
		before: d.snapshot(), after: d.snapshot(),
	}
}

// listing says that an index entry lists a name.
type listing struct {
	kind  dibs.LinkKind
	entry dibs.ID
	label string
}

func (l *listing) encode(e *encoder, name dibs.ID) {
	e.begin(subject{aboutName, name}, tagListed)
	e.number(uint64(l.kind))
	e.id(l.entry)
	e.text(l.label)
}

func (d *decoder) listing() listing {
	return listing{dibs.LinkKind(d.number()), d.id(), d.text()}
}

// ownedName says that an entity owns a name.
type ownedName struct {
	label
	state  dibs.State
	many   bool
	entity dibs.Entity
	scope  string
}

func (o *ownedName) encode(e *encoder, owner dibs.ID) {
	e.begin(subject{aboutEntity, owner}, tagOwned)
	e.label(o.label) // first, so that the names of a namespace come together
	e.text(string(o.state))
	e.flag(o.many)
	e.text(o.entity.Type)
	e.text(o.entity.ID)
	e.text(o.scope)
}

func (d *decoder) ownedName() ownedName {
	return ownedName{
		label: d.label(), state: dibs.State(d.text()), many: d.flag(),
		entity: dibs.Entity{Type: d.text(), ID: d.text()}, scope: d.text(),
	}
}

// entityRow is an entity's record.
type entityRow struct {
	entity            dibs.Entity
	scope             string
	rev               uint64
	archived, deleted bool
	due               dibs.Instant
}

func (r *entityRow) encode(e *encoder, id dibs.ID) {
	e.begin(subject{aboutEntity, id}, tagEntity)
	e.text(r.entity.Type)
	e.text(r.entity.ID)
	e.text(r.scope)
	e.number(r.rev)
	e.flag(r.archived)
	e.flag(r.deleted)
	e.instant(r.due)
}

func (d *decoder) entityRow() *entityRow {
	return &entityRow{
		entity: dibs.Entity{Type: d.text(), ID: d.text()}, scope: d.text(), rev: d.number(),
		archived: d.flag(), deleted: d.flag(), due: d.instant(),
	}
}
