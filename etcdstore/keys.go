package etcdstore

import (
	"encoding/binary"
	"strings"

	"github.com/calldibs/dibs"
)

// keys makes the keys of the store. All of them begin with its prefix; one letter says
// what follows. Numbers are eight bytes, the highest first, so that they sort as bytes.
//
//	c                              the clock: see [stamp]
//	p                              up to when ends are final: see [Store.Await]
//	f                              the version of this layout
//	n <id>                         a name's record
//	e <id>                         an entity's record
//	d <kind> NUL <id>              a document
//	l <kind> NUL <place>           listings: the record's id, by its place in them
//	t <due> <kind> NUL <id>        due dates: the record's scope
//	o <entity id> <place>          what an entity owns: the name's id
//	v <order>                      the feed: the ids of the names that a commit may have told of
//	h <name id> <position>         an event, among those of its name, see [position]
//	b <server> <slot>              the last commit of one who commits, see [Store.settle]
//	m <server>                     a server's clock, see [skew]
//
// A place is a document's label, or a name's namespace, NUL and canonical form. No
// namespace, kind, label or canonical form has a NUL in it, so places sort as the
// contract wants them listed: namespace first.
type keys struct{ prefix string }

const nul = "\x00"

func (k keys) clock() string  { return k.prefix + "c" }
func (k keys) over() string   { return k.prefix + "p" }
func (k keys) format() string { return k.prefix + "f" }

func (k keys) record(kind dibs.Kind, id dibs.ID) string {
	switch kind {
	case dibs.KindName:
		return k.prefix + "n" + string(id[:])
	case dibs.KindEntity:
		return k.prefix + "e" + string(id[:])
	default:
		return k.prefix + "d" + string(kind) + nul + string(id[:])
	}
}

func (k keys) ref(ref dibs.Ref) string { return k.record(ref.Kind, ref.ID) }

// listing is what the places of a kind begin with.
func (k keys) listing(kind dibs.Kind) string { return k.prefix + "l" + string(kind) + nul }

// dueUntil is the first key of what is due at a date or later.
func (k keys) dueUntil(date dibs.Instant) string {
	return k.prefix + "t" + string(number(uint64(date)))
}

func (k keys) due(date dibs.Instant, ref dibs.Ref) string {
	return k.dueUntil(date) + string(ref.Kind) + nul + string(ref.ID[:])
}

// parseDue undoes due, but for the scope.
func (k keys) parseDue(key string) (ref dibs.Ref, ok bool) {
	rest, ok := strings.CutPrefix(key, k.prefix+"t")
	if !ok || len(rest) < 8+1+len(ref.ID) {
		return ref, false
	}
	rest = rest[8:]
	split := len(rest) - len(ref.ID)
	ref.Kind = dibs.Kind(strings.TrimSuffix(rest[:split], nul))
	copy(ref.ID[:], rest[split:])
	return ref, true
}

// owned is what the names of an entity begin with.
func (k keys) owned(entity dibs.ID) string { return k.prefix + "o" + string(entity[:]) }

func (k keys) feed() string              { return k.prefix + "v" }
func (k keys) told(order uint64) string  { return k.feed() + string(number(order)) }
func (k keys) story(name dibs.ID) string { return k.prefix + "h" + string(name[:]) }
func (k keys) markers() string           { return k.prefix + "b" }
func (k keys) servers() string           { return k.prefix + "m" }

func (k keys) marker(server string, slot uint16) string {
	return k.markers() + server + string(binary.BigEndian.AppendUint16(nil, slot))
}

// placeOf is where a record stands in the listing of its kind; ok is false for one that
// stands in none.
func placeOf(record dibs.Record) (place string, ok bool) {
	switch r := record.(type) {
	case *dibs.NameRecord:
		return r.Namespace + nul + r.Canonical, true
	case *dibs.Document:
		return r.Label, true
	}
	return "", false
}

// number is a number as part of a key or a value.
func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// decodeNumber undoes number. What is none is 0.
func decodeNumber(value []byte) uint64 {
	if len(value) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(value)
}

// behind is the first key behind all that begin with a prefix.
func behind(prefix string) string {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return string(end[:i+1])
		}
	}
	return nul // which to etcd means: to the end
}
