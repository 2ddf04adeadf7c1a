package etcdstore

import (
	"encoding/binary"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/calldibs/dibs"
)

// keys makes the keys of the store. All begin with its prefix and a letter for their kind.
// Numbers are eight bytes in big-endian order, so that they sort as bytes.
//
//	c                              the clock: see [stamp]
//	p                              the time up to which ends are final: see [Store.Await]
//	f                              the version of this layout
//	n <id>                         a name's record, with its latest events: see [recent]
//	e <id>                         an entity's record
//	d <kind> NUL <id>              a document
//	s <state> NUL <label>          the listing of the names in a state: the name's id
//	l <kind> NUL <label>           the listing of the documents of a kind: the document's id
//	o <entity id> <label>          the names that an entity owns: the name's id
//	t <period> <order>             the due dates of a commit within a period: see [dueDates]
//	v <order>                      the feed: the ids of the names of a commit's events
//	h <name id> <position>         an event that its name's record does not contain; newest first
//	b <server> <slot>              a marker: the last commit of a slot, see [Store.findOutcome]
//	m <server>                     the published time of a server, see [skew]
//
// A label is that of a document, or the namespace, NUL and the canonical form of a name. No
// namespace, kind, state, label or canonical form contains a NUL, so names sort by namespace
// first, as the contract requires.
//
// What a key costs the members counts, far more than its size: each keeps every key in a tree
// in memory. So a commit writes the due dates and the feed of all its groups with one key each,
// and an event is in the value of its name.
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

// names is the prefix of the listing of the names in a state.
func (k keys) names(state dibs.State) string { return k.prefix + "s" + string(state) + nul }

// documents is the prefix of the listing of the documents of a kind.
func (k keys) documents(kind dibs.Kind) string { return k.prefix + "l" + string(kind) + nul }

// due is the prefix of the due dates of a period.
func (k keys) due(period uint64) string { return k.prefix + "t" + number(period) }

// owned is the prefix of the names of an entity.
func (k keys) owned(entity dibs.ID) string { return k.prefix + "o" + string(entity[:]) }

func (k keys) feed() string    { return k.prefix + "v" }
func (k keys) markers() string { return k.prefix + "b" }
func (k keys) servers() string { return k.prefix + "m" }

// history is the prefix of the events of a name that its record does not contain.
func (k keys) history(name dibs.ID) string { return k.prefix + "h" + string(name[:]) }

// event is the key of an event. etcd reads keys in one direction only, and a history is read
// from its end: so positions are inverted, and the newest event comes first.
func (k keys) event(name dibs.ID, position string) string { return k.history(name) + invert(position) }

// invert returns a text that sorts in the opposite order among texts of its length. It is its
// own inverse.
func invert(text string) string {
	inverted := []byte(text)
	for i := range inverted {
		inverted[i] ^= 0xff
	}
	return string(inverted)
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
