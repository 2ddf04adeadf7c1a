package etcdstore

import (
	"encoding/binary"
	"iter"
	"slices"
)

// recent are the latest events of a name, oldest first: the last field of its record's value.
// Each is its position, and its value with the length before it. A name has few events as a
// rule, and all of them are here; when there are too many, all but the newest move to keys of
// their own.
type recent []byte

// maxRecent is how many events the value of a name contains, unless one commit adds more.
const maxRecent = 4

// add returns the events with one more.
func (r recent) add(position string, value []byte) recent {
	r = append(slices.Grow(r, len(position)+binary.MaxVarintLen16+len(value)), position...)
	r = binary.AppendUvarint(r, uint64(len(value)))
	return append(r, value...)
}

// all returns the positions and values of the events, as far as they are not damaged.
func (r recent) all() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for rest := []byte(r); len(rest) >= positionSize; {
			c := &coder{data: rest[positionSize:], decoding: true}
			var value []byte
			if c.bytes(&value); c.err != nil || !yield(string(rest[:positionSize]), value) {
				return
			}
			rest = c.data
		}
	}
}

// positions returns the positions of the events.
func (r recent) positions() (positions []string) {
	for at := range r.all() {
		positions = append(positions, at)
	}
	return positions
}

// find returns the value of the event at a position, or nil.
func (r recent) find(position string) []byte {
	for at, value := range r.all() {
		if at == position {
			return value
		}
	}
	return nil
}

// replace returns the events with another value at a position.
func (r recent) replace(position string, with []byte) (replaced recent) {
	for at, value := range r.all() {
		if at == position {
			value = with
		}
		replaced = replaced.add(at, value)
	}
	return replaced
}

// appendTo returns the value of a record with its events.
func (r recent) appendTo(value []byte) []byte {
	all := make([]byte, 0, len(value)+len(r)+2)
	all = append(all, value...)
	all = binary.AppendUvarint(all, uint64(len(r)))
	return append(all, r...)
}
