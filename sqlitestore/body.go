package sqlitestore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/calldibs/dibs"
)

// Every name has at least two events, so their bodies are a good part of the file. They are
// encoded like a message of Protocol Buffers, in a quarter of the bytes of JSON:
// protoc --decode_raw shows one.

// The fields of a body. Those of a snapshot begin at before or at after.
const (
	bodyBefore    protowire.Number = 1 // to 6
	bodyAfter     protowire.Number = 7 // to 12
	bodyValue     protowire.Number = 13
	bodyVersion   protowire.Number = 14
	bodyActor     protowire.Number = 15
	bodyCanonical protowire.Number = 16
	bodyScope     protowire.Number = 17
	bodyType      protowire.Number = 18
	bodyEntity    protowire.Number = 19
	bodyRequest   protowire.Number = 20
	bodyMetaKey   protowire.Number = 21
	bodyMetaValue protowire.Number = 22
)

// The fields of a snapshot.
const (
	snapshotState = iota
	snapshotStatus
	snapshotEpoch
	snapshotUntil // milliseconds from the event's time
	snapshotType
	snapshotID
	snapshotFields
)

// words are what states and statuses are stored as: their position. Never change the order.
var words = []string{
	"", "free", "held", "suspect", "active", "alias", "quarantined", "reserved", "confirmed", "released", "expired",
}

type bodyEncoder []byte

func (b *bodyEncoder) number(field protowire.Number, n uint64) {
	if n != 0 {
		*b = protowire.AppendVarint(protowire.AppendTag(*b, field, protowire.VarintType), n)
	}
}

func (b *bodyEncoder) text(field protowire.Number, s string) {
	if s != "" {
		*b = protowire.AppendString(protowire.AppendTag(*b, field, protowire.BytesType), s)
	}
}

// word writes the position of a word, or a word that is not among the known ones.
func (b *bodyEncoder) word(field protowire.Number, s string) {
	if i := slices.Index(words, s); i >= 0 {
		b.number(field, uint64(i))
	} else {
		b.text(field, s)
	}
}

func (b *bodyEncoder) snapshot(first protowire.Number, s *dibs.Snapshot, at dibs.Instant) {
	b.word(first+snapshotState, string(s.State))
	b.word(first+snapshotStatus, string(s.Status))
	b.number(first+snapshotEpoch, s.Epoch)
	if s.Until != 0 {
		*b = protowire.AppendTag(*b, first+snapshotUntil, protowire.VarintType)
		*b = protowire.AppendVarint(*b, protowire.EncodeZigZag(int64(s.Until-at)))
	}
	b.text(first+snapshotType, s.Entity.Type)
	b.text(first+snapshotID, s.Entity.ID)
}

// encodeBody encodes what has no column. If the event's name has a row, the row has the canonical
// form for all its events.
func encodeBody(e *dibs.Event, hasRow bool, seq, prev int64) []byte {
	b := make(bodyEncoder, sealSize, 64+sealSize)
	b.snapshot(bodyBefore, &e.Before, e.At)
	b.snapshot(bodyAfter, &e.After, e.At)
	if !hasRow {
		b.text(bodyCanonical, e.Canonical)
	}
	if e.Value != e.Canonical {
		b.text(bodyValue, e.Value)
	}
	if e.ID.IsZero() {
		b.text(bodyScope, e.Scope)
	}
	if e.Entity != e.After.Entity {
		b.text(bodyType, e.Entity.Type)
		b.text(bodyEntity, e.Entity.ID)
	}
	b.number(bodyVersion, e.Version)
	b.text(bodyActor, e.Actor)
	b.text(bodyRequest, e.CorrelationID)
	if len(e.Meta) > 0 {
		b.meta(e.Meta)
	}
	seal(b, e, seq, prev)
	return b
}

func (b *bodyEncoder) meta(meta map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		*b = protowire.AppendString(protowire.AppendTag(*b, bodyMetaKey, protowire.BytesType), key)
		*b = protowire.AppendString(protowire.AppendTag(*b, bodyMetaValue, protowire.BytesType), meta[key])
	}
}

// decodeBody sets the fields that encodeBody encoded. All others must be set: the canonical form
// too, if it is in a row. If the seal is broken, it sets what it can.
func decodeBody(e *dibs.Event, data []byte, seq, prev int64) error {
	data, broken := unseal(data, e, seq, prev)
	var key string
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeField(data)
		if n < 0 {
			return cmp.Or(broken, fmt.Errorf("%w: event %d, of name %s: %w", ErrDamaged, seq, e.ID, protowire.ParseError(n)))
		}
		_, _, tag := protowire.ConsumeTag(data)
		var number uint64
		var text string
		switch kind {
		case protowire.VarintType:
			number, _ = protowire.ConsumeVarint(data[tag:n])
		case protowire.BytesType:
			text, _ = protowire.ConsumeString(data[tag:n])
		default: // a damaged tag: perhaps that of the seal
			return cmp.Or(broken, damagedEvent(e, seq))
		}
		data = data[n:]
		switch {
		case field < bodyAfter:
			setSnapshot(&e.Before, int(field-bodyBefore), number, text, e.At)
		case field < bodyAfter+snapshotFields:
			setSnapshot(&e.After, int(field-bodyAfter), number, text, e.At)
		case field == bodyMetaKey:
			key = text
		default:
			setField(e, field, number, text, key)
		}
	}
	if e.Value == "" {
		e.Value = e.Canonical
	}
	if !e.ID.IsZero() {
		e.Scope = dibs.ScopeOf(e.Namespace)
	}
	if e.Entity.IsZero() {
		e.Entity = e.After.Entity
	}
	e.Epoch = e.After.Epoch
	return broken
}

func setSnapshot(s *dibs.Snapshot, field int, number uint64, text string, at dibs.Instant) {
	if number > 0 && number < uint64(len(words)) && field <= snapshotStatus {
		text = words[number]
	}
	switch field {
	case snapshotState:
		s.State = dibs.State(text)
	case snapshotStatus:
		s.Status = dibs.Status(text)
	case snapshotEpoch:
		s.Epoch = number
	case snapshotUntil:
		s.Until = at + dibs.Instant(protowire.DecodeZigZag(number))
	case snapshotType:
		s.Entity.Type = text
	case snapshotID:
		s.Entity.ID = text
	}
}

func setField(e *dibs.Event, field protowire.Number, number uint64, text, key string) {
	switch field { //nolint:exhaustive // the library's numbers are bounds, not fields
	case bodyValue:
		e.Value = text
	case bodyVersion:
		e.Version = number
	case bodyActor:
		e.Actor = text
	case bodyCanonical:
		e.Canonical = text
	case bodyScope:
		e.Scope = text
	case bodyType:
		e.Entity.Type = text
	case bodyEntity:
		e.Entity.ID = text
	case bodyRequest:
		e.CorrelationID = text
	case bodyMetaValue:
		if e.Meta == nil {
			e.Meta = make(map[string]string)
		}
		e.Meta[key] = text
	}
}
