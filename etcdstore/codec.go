package etcdstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"github.com/calldibs/dibs"
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
