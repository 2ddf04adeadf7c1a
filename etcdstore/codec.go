package etcdstore

import (
	"encoding/binary"
	"errors"

	"github.com/calldibs/dibs"
)

// errDamaged is the cause of errors about values that cannot be read.
var errDamaged = errors.New("etcdstore: a value is damaged, or something else has written it")

// encoder writes a value field by field: numbers as varints, texts with their length
// before them. Which field is which follows from the order alone. A later version may
// add fields at the end: a value without them reads as zero.
type encoder struct{ data []byte }

func (e *encoder) uint(n uint64) { e.data = binary.AppendUvarint(e.data, n) }
func (e *encoder) int(n int64)   { e.data = binary.AppendVarint(e.data, n) }

func (e *encoder) date(i dibs.Instant) { e.int(int64(i)) }

func (e *encoder) text(s string) {
	e.uint(uint64(len(s)))
	e.data = append(e.data, s...)
}

func (e *encoder) bytes(b []byte) { e.text(string(b)) }

func (e *encoder) flags(set ...bool) {
	var bits uint64
	for i, on := range set {
		if on {
			bits |= 1 << i
		}
	}
	e.uint(bits)
}

func (e *encoder) entity(who dibs.Entity) {
	e.text(who.Type)
	e.text(who.ID)
}

func (e *encoder) meta(meta map[string]string) {
	e.uint(uint64(len(meta)))
	for name, value := range meta {
		e.text(name)
		e.text(value)
	}
}

// decoder reads what an encoder wrote. After the first thing that is wrong all fields
// are zero, and err says so.
type decoder struct {
	data []byte
	err  error
}

func (d *decoder) fail() {
	d.data, d.err = nil, errDamaged
}

func (d *decoder) uint() uint64 {
	if len(d.data) == 0 {
		return 0
	}
	n, size := binary.Uvarint(d.data)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[size:]
	return n
}

func (d *decoder) int() int64 {
	if len(d.data) == 0 {
		return 0
	}
	n, size := binary.Varint(d.data)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[size:]
	return n
}

func (d *decoder) date() dibs.Instant { return dibs.Instant(d.int()) }

func (d *decoder) text() string { return string(d.bytes()) }

// bytes returns a part of the value itself, or nil for none.
func (d *decoder) bytes() []byte {
	n := d.uint()
	if n > uint64(len(d.data)) {
		d.fail()
		return nil
	}
	if n == 0 {
		return nil
	}
	b := d.data[:n:n]
	d.data = d.data[n:]
	return b
}

func (d *decoder) flags(set ...*bool) {
	bits := d.uint()
	for i, on := range set {
		*on = bits&(1<<i) != 0
	}
}

func (d *decoder) entity() dibs.Entity { return dibs.Entity{Type: d.text(), ID: d.text()} }

func (d *decoder) meta() map[string]string {
	n := d.uint()
	if n > uint64(len(d.data)) {
		d.fail()
	}
	if n == 0 || d.err != nil {
		return nil
	}
	meta := make(map[string]string, n)
	for range n {
		name := d.text()
		meta[name] = d.text()
	}
	return meta
}
