package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"iter"
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

// countedCursors writes the cursors.
func (d *dumper) countedCursors(ctx context.Context) error {
	if err := d.countOthers(ctx); err != nil {
		return err
	}
	for _, cursor := range slices.Sorted(maps.Keys(d.cursors)) {
		if err := d.write(line{Cursor: &cursorLine{cursor, d.cursors[cursor]}}); err != nil {
			return err
		}
	}
	return nil
}

// countOthers counts the events before the cursors that are not those of events: of the end of the feed, and
// of events that were deleted since, such as those of dead letters. There may be thousands, so it asks for one
// event behind each, and finds all of those in one pass. A cursor that the feed does not have stays at -1.
func (d *dumper) countOthers(ctx context.Context) error {
	following := make(map[[sha256.Size]byte][]dibs.Cursor) // by the event behind them
	for cursor, before := range d.cursors {
		if before >= 0 {
			continue
		}
		next, found, err := first(d.view.Events(ctx, cursor))
		switch {
		case errors.Is(err, dibs.ErrBadCursor):
			continue
		case err != nil:
			return err
		case !found:
			d.cursors[cursor] = d.content.Events
			continue
		}
		id, err := d.identify(next)
		if err != nil {
			return err
		}
		following[id] = append(following[id], cursor)
	}
	before := 0
	for event, err := range d.view.Events(ctx, "") {
		if err != nil || len(following) == 0 {
			return err
		}
		id, err := d.identify(event)
		if err != nil {
			return err
		}
		for _, cursor := range following[id] {
			d.cursors[cursor] = before
		}
		delete(following, id)
		before++
	}
	return nil
}

// identify returns a hash of an event without its cursor, which depends on where a reader of several
// stores began.
func (d *dumper) identify(e dibs.Event) (id [sha256.Size]byte, err error) {
	e.Cursor = ""
	l := eventLine(e)
	text, err := d.encoder.encode(line{Event: &l})
	return sha256.Sum256(text), err
}

// first returns the first event of a feed.
func first(events iter.Seq2[dibs.Event, error]) (e dibs.Event, found bool, err error) {
	for e, err := range events {
		return e, err == nil, err
	}
	return e, false, nil
}
