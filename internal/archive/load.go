package archive

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"iter"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/internal/webhook"
)

// Options are the settings of a load. The zero Options are usable.
type Options struct {
	// Checked is called when the archive was checked, before anything is written.
	Checked func(Summary)
	// Progress is called after each record and event, also with those that were stored before.
	Progress func(done int)
	// Cursors, if set, gets a line of CSV for each event: its cursor in the archive, and in the store.
	Cursors io.Writer
}

// Load puts an archive into an empty store, or goes on with one that was interrupted. It reads the archive
// several times: first it checks all of it, and writes nothing unless it is whole and unchanged. At the
// end it reads everything from the store again and compares it.
//
// The store gives new cursors to events. Those in documents, such as the positions of webhooks, are
// translated. The store refuses all others of the archive.
func Load(ctx context.Context, open func() (io.ReadCloser, error), store dibs.Store, o Options) (Summary, error) {
	l := &loader{open: open, store: store, options: o}
	if p, ok := store.(dibs.Partitioned); ok && len(p.Parts()) > 1 {
		l.parts, l.partOf = p.Parts(), p.PartOf
	} else {
		l.parts, l.partOf = []dibs.Part{{Store: store}}, func(string) int { return 0 }
	}
	err := l.load(ctx)
	return l.summary, err
}

type loader struct {
	open    func() (io.ReadCloser, error)
	store   dibs.Store
	options Options
	parts   []dibs.Part
	partOf  func(scope string) int

	summary Summary
	done    int
	cursors *cursors // in documents; nil until all events are written
}

func (l *loader) load(ctx context.Context) error {
	err := l.reading(func(r io.Reader) (err error) {
		l.summary, err = Check(ctx, r)
		return err
	})
	if err != nil {
		return err
	}
	if l.options.Checked != nil {
		l.options.Checked(l.summary)
	}
	w, err := snapshot.NewWriter(ctx, l.store, l.summary.sha256, l.summary.Latest)
	if err != nil {
		return err
	}
	if err := l.reading(func(r io.Reader) error { return l.write(ctx, w, r) }); err != nil {
		return err
	}
	if err := l.reading(func(r io.Reader) error { return l.compare(ctx, r) }); err != nil {
		return err
	}
	return w.Finish(ctx)
}

// reading opens the archive for one pass.
func (l *loader) reading(fn func(io.Reader) error) error {
	r, err := l.open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	return fn(r)
}

// write writes all items that are not stored yet.
func (l *loader) write(ctx context.Context, w *snapshot.Writer, r io.Reader) error {
	skip := 0
	if len(l.parts) == 1 { // with more, the part of each event must be known
		skip = min(w.Stored(), l.summary.Names+l.summary.Entities+l.summary.Events)
	}
	w.Skip(skip)
	l.done = skip
	counted := newTally(l)
	counted.skip(skip - l.summary.Names - l.summary.Entities)
	for it, err := range items(ctx, r, skip) {
		if err == nil {
			err = l.add(ctx, w, counted, it)
		}
		if err != nil {
			return err
		}
		if l.done++; l.options.Progress != nil {
			l.options.Progress(l.done)
		}
	}
	return w.Flush(ctx)
}

func (l *loader) add(ctx context.Context, w *snapshot.Writer, counted *tally, it item) (err error) {
	if it.event != nil {
		counted.add(l.partOf(it.event.Scope))
		return w.Event(ctx, *it.event)
	}
	if d, ok := it.record.(*dibs.Document); ok {
		if l.cursors == nil {
			if err := w.Flush(ctx); err != nil {
				return err
			}
			if l.cursors, err = counted.cursors(ctx); err != nil {
				return err
			}
		}
		if it.record, err = webhook.WithCursors(d, l.cursors.translate); err != nil {
			return err
		}
	}
	return w.Record(ctx, it.record)
}

// compare reads everything from the store again: all records, and the events in the order of the archive.
func (l *loader) compare(ctx context.Context, r io.Reader) error {
	got := newDigest()
	view, err := snapshot.Take(ctx, l.store)
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }()
	for _, table := range snapshot.Tables {
		for record, err := range view.Records(ctx, table) {
			if err == nil && !snapshot.IsLocal(record) {
				err = got.record(record)
			}
			if err != nil {
				return err
			}
		}
	}
	if err := l.compareEvents(ctx, r, got); err != nil {
		return err
	}
	if got.Counts != l.summary.Counts || got.String() != l.summary.content {
		return differs("it has %+v, the archive has %+v (digests %.16s and %.16s)", got.Counts, l.summary.Counts, got.String(), l.summary.content)
	}
	return nil
}

func differs(format string, args ...any) error {
	return fmt.Errorf("the store differs from the archive: "+format+": load it again into an empty store, and check its disk", args...)
}

// compareEvents compares the events of each part with those of the archive, in their order, and writes the
// cursors of both.
func (l *loader) compareEvents(ctx context.Context, r io.Reader, got *digest) error {
	table, err := newCursorTable(l.options.Cursors)
	if err != nil {
		return err
	}
	next := make([]func() (dibs.Event, error, bool), len(l.parts))
	for i, part := range l.parts {
		view, err := snapshot.Take(ctx, part.Store)
		if err != nil {
			return err
		}
		defer func() { _ = view.Close() }()
		pull, stop := iter.Pull2(view.Events(ctx, ""))
		defer stop()
		next[i] = pull
	}
	at := make([]dibs.Cursor, len(l.parts))
	for it, err := range items(ctx, r, l.summary.Names+l.summary.Entities) {
		if err != nil {
			return err
		}
		if it.event == nil {
			break
		}
		part := l.partOf(it.event.Scope)
		event, err, found := next[part]()
		if err == nil && (!found || !snapshot.SameEvent(it.event, &event)) {
			err = differs("its event number %d is another one", got.Events+1)
		}
		if err == nil {
			err = got.event(event)
		}
		if err != nil {
			return err
		}
		at[part] = event.Cursor
		if err := table.add(it.event.Cursor, at); err != nil {
			return err
		}
	}
	for _, next := range next {
		if _, err, found := next(); err != nil || found {
			return cmp.Or(err, differs("it has events behind the last one"))
		}
	}
	return table.close()
}

// cursorTable writes the cursors of events, in the archive and in the store, as CSV. Nil writes nothing.
type cursorTable struct{ *csv.Writer }

func newCursorTable(w io.Writer) (*cursorTable, error) {
	if w == nil {
		return nil, nil
	}
	t := &cursorTable{csv.NewWriter(w)}
	return t, t.Write([]string{"archive", "store"})
}

func (t *cursorTable) add(archive dibs.Cursor, store []dibs.Cursor) error {
	if t == nil {
		return nil
	}
	return t.Write([]string{string(archive), string(joinCursors(store))})
}

func (t *cursorTable) close() error {
	if t == nil {
		return nil
	}
	t.Flush()
	return t.Error()
}
