package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"maps"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/internal/webhook"
)

// Dump writes a view as an archive. It tells the progress after each line; nil means that it does not.
func Dump(ctx context.Context, view snapshot.View, w io.Writer, progress func(Counts)) (Counts, error) {
	d := &dumper{view: view, out: bufio.NewWriterSize(w, 1<<20), hash: sha256.New(), encoder: newEncoder(), content: newDigest(), progress: progress}
	err := d.dump(ctx)
	return d.content.Counts, err
}

type dumper struct {
	view     snapshot.View
	out      *bufio.Writer
	hash     hash.Hash
	encoder  *encoder
	content  *digest
	cursors  map[dibs.Cursor]int // in documents: how many events are before it; -1 until it is known
	progress func(Counts)
}

func (d *dumper) dump(ctx context.Context) error {
	if err := d.findCursors(ctx); err != nil {
		return err
	}
	if err := d.write(line{Header: &Header{Format: format, Version: Version, At: d.view.Now(), Latest: d.view.Latest()}}); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{d.records(snapshot.Names), d.records(snapshot.Entities), d.events, d.countedCursors, d.records(snapshot.Documents)} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	last := end{Counts: d.content.Counts, Cursors: len(d.cursors), Content: d.content.String(), SHA256: hex.EncodeToString(d.hash.Sum(nil))}
	if err := d.write(line{End: &last}); err != nil {
		return err
	}
	return d.out.Flush()
}

func (d *dumper) write(l line) error {
	text, err := d.encoder.encode(l)
	if err != nil {
		return err
	}
	d.hash.Write(text)
	if _, err := d.out.Write(text); err != nil {
		return err
	}
	if d.progress != nil {
		d.progress(d.content.Counts)
	}
	return nil
}

// findCursors finds the cursors in documents.
func (d *dumper) findCursors(ctx context.Context) error {
	d.cursors = make(map[dibs.Cursor]int)
	for record, err := range d.view.Records(ctx, snapshot.Documents) {
		if err != nil {
			return err
		}
		if _, err := webhook.WithCursors(record.(*dibs.Document), d.note); err != nil {
			return err
		}
	}
	return nil
}

// note notes the cursors of a document. The empty one is the beginning of every feed.
func (d *dumper) note(after, cursor *dibs.Cursor) error {
	for _, c := range []*dibs.Cursor{after, cursor} {
		if c != nil && *c != "" {
			d.cursors[*c] = -1
		}
	}
	return nil
}

func (d *dumper) records(table snapshot.Table) func(context.Context) error {
	return func(ctx context.Context) error {
		for record, err := range d.view.Records(ctx, table) {
			if err == nil && snapshot.IsLocal(record) {
				continue
			}
			if err == nil {
				err = d.content.record(record)
			}
			if err == nil {
				err = d.write(lineOf(record))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func (d *dumper) events(ctx context.Context) error {
	for event, err := range d.view.Events(ctx, "") {
		if err == nil {
			err = d.content.event(event)
		}
		if err == nil {
			l := eventLine(event)
			err = d.write(line{Event: &l})
		}
		if err != nil {
			return err
		}
		if _, known := d.cursors[event.Cursor]; known {
			d.cursors[event.Cursor] = d.content.Events
		}
	}
	return nil
}

// eventsBefore counts the events before a cursor that is not that of an event: -1 for one that the feed
// does not have.
func (d *dumper) eventsBefore(ctx context.Context, cursor dibs.Cursor) (int, error) {
	before := d.content.Events
	for _, err := range d.view.Events(ctx, cursor) {
		if errors.Is(err, dibs.ErrBadCursor) {
			return -1, nil
		}
		if err != nil {
			return 0, err
		}
		before--
	}
	return before, nil
}

// countedCursors writes the cursors. One that is not that of an event is the end of the feed, or that of an
// event which was deleted: the events behind it are counted.
func (d *dumper) countedCursors(ctx context.Context) error {
	for _, cursor := range slices.Sorted(maps.Keys(d.cursors)) {
		before := d.cursors[cursor]
		if before < 0 {
			var err error
			if before, err = d.eventsBefore(ctx, cursor); err != nil {
				return err
			}
		}
		if err := d.write(line{Cursor: &cursorLine{cursor, before}}); err != nil {
			return err
		}
	}
	return nil
}
