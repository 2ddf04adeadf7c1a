package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/webhook"
)

// digest is a sum of the hashes of records and events, so that two stores with the same content have the
// same digest in whatever order they are read. Cursors do not count: each store has its own.
type digest struct {
	sum     [4]uint64
	encoder *encoder
	Counts
}

func newDigest() *digest { return &digest{encoder: newEncoder()} }

func (d *digest) record(r dibs.Record) error {
	switch r := r.(type) {
	case *dibs.NameRecord:
		d.Names++
	case *dibs.EntityRecord:
		d.Entities++
	case *dibs.Document:
		d.Documents++
		without, err := webhook.WithCursors(r, withoutCursors)
		if err != nil {
			return err
		}
		return d.add(lineOf(without))
	}
	return d.add(lineOf(r))
}

func withoutCursors(after, cursor *dibs.Cursor) error {
	if *cursor = ""; after != nil {
		*after = ""
	}
	return nil
}

func (d *digest) event(e dibs.Event) error {
	d.Events++
	e.Cursor = ""
	l := eventLine(e)
	return d.add(line{Event: &l})
}

func (d *digest) add(l line) error {
	text, err := d.encoder.encode(l)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(text)
	for i := range d.sum {
		d.sum[i] += binary.BigEndian.Uint64(hash[8*i:])
	}
	return nil
}

func (d *digest) String() string {
	var text []byte
	for _, part := range d.sum {
		text = binary.BigEndian.AppendUint64(text, part)
	}
	return hex.EncodeToString(text)
}
