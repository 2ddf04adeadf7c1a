package sqlitestore

import (
	"encoding/binary"

	"github.com/calldibs/dibs"
)

// filter is a Bloom filter of the records in a file that one store alone writes: it tells of nearly every
// new record that it is absent, without a look at the file. Millions of records make it less useful, not
// wrong. A nil filter knows nothing.
type filter struct {
	bits []uint64
}

const (
	filterBits   = 1 << 25 // 4 MB
	filterHashes = 4
)

func newFilter() *filter { return &filter{make([]uint64, filterBits/64)} }

// at returns the position of the nth bit of an id, which is a hash itself.
func (f *filter) at(id *dibs.ID, n uint64) (word int, bit uint64) {
	a, b := binary.LittleEndian.Uint64(id[:8]), binary.LittleEndian.Uint64(id[8:])
	position := (a + n*(b|1)) % filterBits
	return int(position / 64), 1 << (position % 64)
}

// addAll adds the records that are written.
func (f *filter) addAll(writes []dibs.Write) {
	if f == nil {
		return
	}
	for i := range writes {
		id := writes[i].Record.Ref().ID
		for n := range uint64(filterHashes) {
			word, bit := f.at(&id, n)
			f.bits[word] |= bit
		}
	}
}

// mayHave reports whether a record may be in the file.
func (f *filter) mayHave(id dibs.ID) bool {
	if f == nil {
		return true
	}
	for n := range uint64(filterHashes) {
		if word, bit := f.at(&id, n); f.bits[word]&bit == 0 {
			return false
		}
	}
	return true
}
