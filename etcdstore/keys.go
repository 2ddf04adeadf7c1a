package etcdstore

import (
	"encoding/binary"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// keys makes the keys of the store. All begin with its prefix and a letter for their kind.
// Numbers are eight bytes in big-endian order, so that they sort as bytes.
//
//	c                              the clock: see [stamp]
//	p                              the time up to which ends are final: see [Store.Await]
//	f                              the version of this layout
//	n <id>                         a name's record
//	e <id>                         an entity's record
//	d <kind> NUL <id>              a document
//	l <kind> NUL <label>           listings: the record's id
//	t <due> <kind> NUL <id>        due dates: the record's scope
//	o <entity id> <label>          the names that an entity owns: the name's id
//	v <order>                      the feed: the ids of the names of a commit's events
//	h <name id> <position>         an event in the history of its name, see [position]
//	b <server> <slot>              a marker: the last commit of a slot, see [Store.findOutcome]
//	m <server>                     the published time of a server, see [skew]
//
// A label is that of a document, or the namespace, NUL and the canonical form of a name. No
// namespace, kind, label or canonical form contains a NUL, so names sort by namespace first, as
// the contract requires.
type keys struct{ prefix string }

const nul = "\x00"

func (k keys) clock() string  { return k.prefix + "c" }
func (k keys) format() string { return k.prefix + "f" }

// finalUntil is the time up to which ends are final: a commit with an earlier stamp fails.
func (k keys) finalUntil() string { return k.prefix + "p" }

func (k keys) ref(ref dibs.Ref) string {
	switch ref.Kind {
	case dibs.KindName:
		return k.prefix + "n" + string(ref.ID[:])
	case dibs.KindEntity:
		return k.prefix + "e" + string(ref.ID[:])
	default:
		return k.prefix + "d" + string(ref.Kind) + nul + string(ref.ID[:])
	}
}

// listing is the prefix of the listing of a kind.
func (k keys) listing(kind dibs.Kind) string { return k.prefix + "l" + string(kind) + nul }

// dueFrom is the first key of records that are due at a date or later.
func (k keys) dueFrom(date dibs.Instant) string {
	return k.prefix + "t" + number(uint64(date))
}

func (k keys) due(date dibs.Instant, ref dibs.Ref) string {
	return k.dueFrom(date) + string(ref.Kind) + nul + string(ref.ID[:])
}

// parseDue is the inverse of due, except for the scope.
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

// owned is the prefix of the names of an entity.
func (k keys) owned(entity dibs.ID) string { return k.prefix + "o" + string(entity[:]) }

func (k keys) feed() string                { return k.prefix + "v" }
func (k keys) markers() string             { return k.prefix + "b" }
func (k keys) servers() string             { return k.prefix + "m" }
func (k keys) history(name dibs.ID) string { return k.prefix + "h" + string(name[:]) }

// parseHistory returns the name and the position of an event from its key.
func (k keys) parseHistory(key string) (name dibs.ID, position string) {
	rest := key[len(k.prefix)+1:]
	return dibs.ID([]byte(rest)), rest[len(name):]
}

func (k keys) marker(server string, slot uint16) string {
	return k.markers() + server + string(binary.BigEndian.AppendUint16(nil, slot))
}

// number encodes a number as part of a key or a value.
func number(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }

// decodeNumber is the inverse of number. A value of another length is 0.
func decodeNumber(value []byte) uint64 {
	if len(value) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(value)
}

// prefixEnd returns the first key behind all that begin with a prefix.
var prefixEnd = clientv3.GetPrefixRangeEnd
