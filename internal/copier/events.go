package copier

import (
	"context"
	"fmt"
	"iter"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/internal/webhook"
)

// maxUnequal bounds the names whose history is copied again. Events are deleted and erased with
// their names, so there are few; more mean that the target has another feed.
const maxUnequal = 10_000

// compareEvents compares the feeds of both sides, which have the same names. The target has the events of
// the source in their order. Where details were erased in the source, it erases them in the target;
// where events were deleted, or are missing, it copies the history of the name again.
func (c *copying) compareEvents(ctx context.Context) (n eventCounts, err error) {
	wanted, lost, err := c.cursorsInUse(ctx)
	if err != nil {
		return n, err
	}
	w := &walk{
		wanted: wanted, cursors: make(map[dibs.Cursor]dibs.Cursor),
		rewrites: make(map[dibs.Ref]bool), redacts: make(map[dibs.Ref][]dibs.Event),
	}
	for _, cursor := range lost {
		w.cursors[cursor] = webhook.LostCursor
	}
	if err := c.views(ctx, func(source, target snapshot.View) error {
		return w.run(source.Events(ctx, ""), target.Events(ctx, ""), func() { c.tell(Comparing, w.events) })
	}); err != nil {
		return n, err
	}
	c.cursors = w.cursors
	n = eventCounts{w.events, len(w.rewrites) + len(w.redacts) + len(w.entities)}
	return n, c.mend(ctx, w)
}

type eventCounts struct{ events, different int }

// walk compares two feeds.
type walk struct {
	events   int
	rewrites map[dibs.Ref]bool         // names whose events differ
	redacts  map[dibs.Ref][]dibs.Event // erased events by name, with the cursors of the target
	entities []dibs.Event              // erased events about entities, with the cursors of the target

	wanted  map[dibs.Cursor][]dibs.Cursor // by the cursor of the event after them; the empty one for the end
	cursors map[dibs.Cursor]dibs.Cursor   // of the target, by those of the source
}

func (w *walk) run(source, target iter.Seq2[dibs.Event, error], tell func()) error {
	next, stop := iter.Pull2(target)
	defer stop()
	last := dibs.Cursor("") // in the target
	t, err, ok := next()
	for s, sErr := range source {
		if sErr != nil {
			return sErr
		}
		if w.events++; w.events%snapshot.PageSize == 0 {
			tell()
		}
		for ok && err == nil && idOf(&s) != idOf(&t) { // the source has deleted it
			if err := w.rewrite(&t); err != nil {
				return err
			}
			t, err, ok = next()
		}
		if err != nil {
			return err
		}
		w.translate(s.Cursor, last)
		if !ok {
			if err := w.rewrite(&s); err != nil {
				return err
			}
			continue
		}
		w.check(&s, &t)
		last = t.Cursor
		t, err, ok = next()
	}
	for ; ok; t, err, ok = next() {
		if err != nil {
			return err
		}
		if err := w.rewrite(&t); err != nil {
			return err
		}
	}
	w.translate("", last)
	return err
}

// translate notes the cursors of the source that are before an event.
func (w *walk) translate(before, last dibs.Cursor) {
	for _, cursor := range w.wanted[before] {
		w.cursors[cursor] = last
	}
}

// check compares an event of both sides.
func (w *walk) check(s, t *dibs.Event) {
	if snapshot.SameEvent(s, t) {
		return
	}
	erased := *s
	erased.Cursor = t.Cursor
	if s.ID.IsZero() {
		w.entities = append(w.entities, erased)
		return
	}
	ref := nameOf(s)
	w.redacts[ref] = append(w.redacts[ref], erased)
}

// rewrite notes that the events of a name differ.
func (w *walk) rewrite(e *dibs.Event) error {
	if e.ID.IsZero() || len(w.rewrites) == maxUnequal {
		return fmt.Errorf("%w: the event %s at %s of %s is on one side only: copy into a new store", ErrDiffers, e.Kind, e.At.Time(), e.Entity)
	}
	w.rewrites[nameOf(e)] = true
	return nil
}

// mend makes the events of the target those of the source.
func (c *copying) mend(ctx context.Context, w *walk) error {
	var refs []dibs.Ref
	for ref := range w.rewrites {
		delete(w.redacts, ref)
		refs = append(refs, ref)
	}
	for ref := range w.redacts {
		refs = append(refs, ref)
	}
	for len(refs) > 0 {
		part := refs[:min(len(refs), maxRecords)]
		refs = refs[len(part):]
		was, err := load(ctx, c.target, part)
		if err != nil {
			return err
		}
		is, err := load(ctx, c.source, part)
		if err != nil {
			return err
		}
		var changes []change
		for _, ref := range part {
			if was[ref] == nil || is[ref] == nil {
				return fmt.Errorf("%w: the name %s of an event is on one side only: %w", ErrDiffers, ref.ID, ErrInUse)
			}
			changes = append(changes, change{was: was[ref], is: is[ref], redacts: w.redacts[ref], rewrite: w.rewrites[ref]})
		}
		if err := c.apply(ctx, changes); err != nil {
			return err
		}
	}
	if len(w.entities) == 0 {
		return nil
	}
	return c.commit(ctx, c.withState(dibs.Group{Redacts: w.entities}))
}
