package copier

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
)

// compare compares both sides, and copies to the target what differs. The source is fenced. It
// returns what both have if nothing was different.
func (c *copying) compare(ctx context.Context) (report Report, different int, err error) {
	for _, table := range []struct {
		table snapshot.Table
		count *int
	}{{snapshot.Names, &report.Names}, {snapshot.Entities, &report.Entities}} {
		n, err := c.compareRecords(ctx, Comparing, table.table)
		if err != nil {
			return report, 0, err
		}
		*table.count = n.records
		different += n.different
	}
	events, err := c.compareEvents(ctx)
	if err != nil {
		return report, 0, err
	}
	// Documents are last: those of webhooks have cursors, which the events tell.
	documents, err := c.compareRecords(ctx, Comparing, snapshot.Documents)
	report.Events, report.Documents = events.events, documents.records
	return report, different + events.different + documents.different, err
}

type recordCounts struct{ records, different int }

// maxRecords is how many records are copied at once.
const maxRecords = 200

// compareRecords compares a table of both sides, and copies what differs.
func (c *copying) compareRecords(ctx context.Context, step Step, table snapshot.Table) (n recordCounts, err error) {
	var todo []change
	flush := func() error {
		err := c.apply(ctx, todo)
		todo = todo[:0]
		return err
	}
	err = c.views(ctx, func(source, target snapshot.View) error {
		for both, err := range merged(source.Records(ctx, table), target.Records(ctx, table)) {
			if err == nil && len(todo) == maxRecords {
				err = flush()
			}
			if err != nil {
				return err
			}
			is, err := c.wanted(step, both.source)
			if err != nil {
				return err
			}
			if n.records++; n.records%snapshot.PageSize == 0 {
				c.tell(step, n.records)
			}
			switch {
			case staysBehind(both.source) || staysBehind(both.target) || (is == nil && both.source != nil):
				n.records--
			case is == nil || both.target == nil || !snapshot.SameRecord(is, both.target):
				n.different++
				todo = append(todo, change{was: both.target, is: is})
			}
		}
		return flush()
	})
	return n, err
}

// wanted returns the record that the target must have for one of the source; nil for none yet.
func (c *copying) wanted(step Step, r dibs.Record) (dibs.Record, error) {
	d, ok := r.(*dibs.Document)
	if !ok {
		return r, nil
	}
	return c.translated(step, d)
}

// staysBehind reports whether a record belongs to the store, and not to what is copied. The routes
// are copied: the target takes the place of the source among several parts.
func staysBehind(r dibs.Record) bool {
	return r != nil && snapshot.IsLocal(r) && r.Ref().Kind != snapshot.KindRoutes
}

// views runs fn on a view of each side.
func (c *copying) views(ctx context.Context, fn func(source, target snapshot.View) error) error {
	source, err := snapshot.Take(ctx, c.source)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := snapshot.Take(ctx, c.target)
	if err != nil {
		return err
	}
	defer func() { _ = target.Close() }()
	return fn(source, target)
}

// pair is a record on both sides; nil where it is absent.
type pair struct{ source, target dibs.Record }

// merged returns the records of two tables, each in the order of its refs, in pairs.
func merged(source, target iter.Seq2[dibs.Record, error]) iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		nextSource, stopSource := iter.Pull2(source)
		defer stopSource()
		nextTarget, stopTarget := iter.Pull2(target)
		defer stopTarget()
		s, sErr, sOK := nextSource()
		t, tErr, tOK := nextTarget()
		for sOK || tOK {
			if err := errors.Join(sErr, tErr); err != nil {
				yield(pair{}, err)
				return
			}
			var order int
			switch {
			case !sOK:
				order = 1
			case !tOK:
				order = -1
			default:
				order = snapshot.CompareRefs(s.Ref(), t.Ref())
			}
			var both pair
			if order <= 0 {
				both.source = s
				s, sErr, sOK = nextSource()
			}
			if order >= 0 {
				both.target = t
				t, tErr, tOK = nextTarget()
			}
			if !yield(both, nil) {
				return
			}
		}
	}
}

// change is a record of the target that must become that of the source.
type change struct {
	was, is dibs.Record // nil if it is absent
	redacts []dibs.Event
	rewrite bool // its history too
}

// record returns the record of the side that has it.
func (ch change) record() dibs.Record {
	if ch.is != nil {
		return ch.is
	}
	return ch.was
}

// apply makes changes, in as few commits as the target allows.
func (c *copying) apply(ctx context.Context, changes []change) error {
	for size := len(changes); len(changes) > 0; {
		size = min(size, len(changes))
		g, err := c.groupOf(ctx, changes[:size])
		if err == nil {
			err = c.commit(ctx, c.withState(g))
		}
		switch {
		case errors.Is(err, errTooLarge) && size > 1:
			size /= 2
		case err != nil:
			return fmt.Errorf("%s: %w", labelOf(changes[0].record()), err)
		default:
			changes = changes[size:]
		}
	}
	return nil
}

func (c *copying) groupOf(ctx context.Context, changes []change) (g dibs.Group, err error) {
	for _, ch := range changes {
		w := writeOf(ch.was, ch.is)
		c.difference = fmt.Sprintf("the %s %s", ch.record().Ref().Kind, labelOf(ch.record()))
		name, _ := ch.is.(*dibs.NameRecord)
		if name != nil && (ch.was == nil || ch.rewrite || w.Renew) {
			history, err := c.history(ctx, name.ID)
			if err != nil {
				return g, err
			}
			w.Renew = ch.was != nil
			g.Events = append(g.Events, history...)
		}
		g.Reads = append(g.Reads, readOf(ch.record().Ref(), ch.was))
		g.Writes = append(g.Writes, w)
		g.Redacts = append(g.Redacts, ch.redacts...)
	}
	return g, nil
}

// history returns the events of a name in the source, oldest first.
func (c *copying) history(ctx context.Context, name dibs.ID) (events []dibs.Event, err error) {
	for query := (dibs.EventQuery{Name: name, Limit: snapshot.PageSize}); ; {
		page, err := c.source.Events(ctx, query)
		if err != nil {
			return nil, err
		}
		events = append(events, page...)
		if len(page) < query.Limit {
			slices.Reverse(events)
			for i := range events {
				events[i].Cursor = ""
			}
			return events, nil
		}
		query.After = page[len(page)-1].Cursor
	}
}
