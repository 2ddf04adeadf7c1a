package nametest

import (
	"bytes"
	"encoding/binary"
)

// finder searches for many needles at once.
type finder struct {
	// known rules out most positions fast: no needle begins with these four bytes.
	known   [1 << 20 / 64]uint64
	needles map[uint32][]needle // by their first four bytes
}

func newFinder(needles []needle) *finder {
	f := &finder{needles: make(map[uint32][]needle)}
	for _, n := range needles {
		if len(n.bytes) < 8 {
			panic("needle too short, it would be found by chance: " + n.what)
		}
		head := binary.LittleEndian.Uint32(n.bytes)
		f.needles[head] = append(f.needles[head], n)
		slot := slotOf(head)
		f.known[slot/64] |= 1 << (slot % 64)
	}
	return f
}

func slotOf(head uint32) uint32 { return head * 2654435761 >> 12 }

// find returns which needles are in hay.
func (f *finder) find(hay []byte) map[string]bool {
	found := make(map[string]bool)
	for i := 0; i+4 <= len(hay); i++ {
		head := binary.LittleEndian.Uint32(hay[i:])
		slot := slotOf(head)
		if f.known[slot/64]>>(slot%64)&1 == 0 {
			continue
		}
		for _, n := range f.needles[head] {
			if bytes.HasPrefix(hay[i:], n.bytes) {
				found[n.what] = true
			}
		}
	}
	return found
}
