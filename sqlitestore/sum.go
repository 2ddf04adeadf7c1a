package sqlitestore

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/sqlrow"
)

// SQLite has no checksums of pages: a file with a flipped bit is served as it is. So each row has
// a sum of what it says, which every read checks. Rows from before there were sums have none
// until they are written again.

// addSums adds the columns for sums.
const addSums = `
	ALTER TABLE dibs_names ADD COLUMN sum INTEGER;
	ALTER TABLE dibs_entities ADD COLUMN sum INTEGER;
	ALTER TABLE dibs_documents ADD COLUMN sum INTEGER;`

// checksum is a sum in progress. Every step can be undone, so a difference in one step is never
// lost in the next ones; only the end, which keeps 32 of 64 bits, can hide it. It needs no
// buffer, unlike a CRC: rows are read and written without an allocation for it.
type checksum uint64

const startOfSum checksum = 0x243f6a8885a308d3

func (c checksum) number(n uint64) checksum {
	c = (c ^ checksum(n)) * 0x9e3779b97f4a7c15
	return c ^ c>>32
}

// addText adds a text with its length.
func addText[T string | []byte](c checksum, s T) checksum {
	c = c.number(uint64(len(s)))
	i := 0
	for ; i+8 <= len(s); i += 8 {
		c = c.number(uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56)
	}
	var rest uint64
	for ; i < len(s); i++ {
		rest = rest<<8 | uint64(s[i])
	}
	return c.number(rest)
}

// value adds the value of a column.
func (c checksum) value(p any) checksum {
	switch p := p.(type) {
	case *string:
		return addText(c, *p)
	case *int64:
		return c.number(uint64(*p))
	case *uint64:
		return c.number(*p)
	case *int:
		return c.number(uint64(*p))
	case *bool:
		if *p {
			return c.number(1)
		}
		return c.number(0)
	case *dibs.ID:
		return addText(c, p[:])
	case *[]byte:
		return addText(c, *p)
	}
	return c
}

// end returns the half to which every bit of the last steps has spread.
func (c checksum) end() uint32 { return uint32(c >> 32) }

// sum returns the checksum of a row.
func (t *table) sum(row sqlrow.Row) int64 {
	c := startOfSum
	for i := range t.Columns {
		c = c.value(t.Columns[i].At(row))
	}
	return int64(c.end())
}

// The seal of an event is the first field of its body, with a checksum: no damage to a length can
// hide it. A part seal is not about the namespace and the previous event, as all were in earlier versions.
const (
	bodyPartSeal = protowire.Number(23)
	bodySeal     = protowire.Number(24)
	sealSize     = 6 // two bytes of tag, four of checksum
)

// unknown stands for the number of the previous event, where that is not known.
const unknown = -1

// seal fills in the seal at the beginning of a body.
func seal(body []byte, e *dibs.Event, seq, prev int64) {
	field := bodySeal
	if prev == unknown {
		field = bodyPartSeal
	}
	b := protowire.AppendTag(body[:0], field, protowire.Fixed32Type)
	protowire.AppendFixed32(b, sumOfEvent(body[sealSize:], e, seq, prev))
}

// unseal checks the seal of a body, and returns the rest, also if the seal is broken. Events from before there were seals have
// none.
func unseal(body []byte, e *dibs.Event, seq, prev int64) ([]byte, error) {
	field, kind, tag := protowire.ConsumeTag(body)
	if tag < 0 || field != bodySeal && field != bodyPartSeal || kind != protowire.Fixed32Type {
		return body, nil
	}
	if field == bodyPartSeal {
		prev = unknown
	}
	sum, n := protowire.ConsumeFixed32(body[tag:])
	if n < 0 {
		return nil, damagedEvent(e, seq)
	}
	if body = body[tag+n:]; sum != sumOfEvent(body, e, seq, prev) {
		return body, damagedEvent(e, seq)
	}
	return body, nil
}

// sumOfEvent is about what the event's own row has, and the id and the namespace of its name.
func sumOfEvent(body []byte, e *dibs.Event, seq, prev int64) uint32 {
	c := startOfSum.number(uint64(seq)).number(uint64(e.At)).number(e.Rev)
	if prev != unknown {
		c = addText(c.number(uint64(prev)), e.Namespace)
	}
	return addText(addText(addText(c, e.ID[:]), string(e.Kind)), body).end()
}

// checkedPages is the size of a file, in pages, up to which Open checks all of it: tables,
// indexes, and that they agree. That takes about 0.1 s.
const checkedPages = 2 << 10

var integrityCheck = newStatement("PRAGMA integrity_check(1)")

// checkSmall checks a small file.
func checkSmall(ctx context.Context, run runner) error {
	if pages, err := readInt(ctx, run, pageCount); err != nil || pages > checkedPages {
		return err
	}
	result, err := readRow(ctx, run, integrityCheck)
	if err != nil {
		return err
	}
	if len(result) == 0 || result[0] != "ok" {
		return fmt.Errorf("%w: %v", ErrDamaged, result)
	}
	return nil
}

func damagedEvent(e *dibs.Event, seq int64) error {
	return damaged("event %d, of name %s,", seq, e.ID)
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s is not as it was written", ErrDamaged, fmt.Sprintf(format, args...))
}
