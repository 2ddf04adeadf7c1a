package copier

import (
	"context"
	"errors"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/snapshot"
)

// follow copies the feed from the position on: to its end, or to the first event that happened
// at until or later.
func (c *copying) follow(ctx context.Context, step Step, until dibs.Instant) error {
	c.copied = 0
	for {
		c.tell(step, c.copied)
		events, err := c.source.Events(ctx, dibs.EventQuery{After: c.state.Cursor, Limit: maxPage})
		if err != nil || len(events) == 0 {
			return err
		}
		if err := c.copyEvents(ctx, events); err != nil {
			return err
		}
		if last := &events[len(events)-1]; until != 0 && (len(events) < maxPage || last.At >= until) {
			return nil
		}
	}
}

// copyEvents copies events, in as few commits as the target allows.
func (c *copying) copyEvents(ctx context.Context, events []dibs.Event) error {
	for len(events) > 0 {
		part := events[:min(len(events), c.pageSize)]
		before := c.state.Cursor
		c.state.Cursor = part[len(part)-1].Cursor
		err := c.copyPage(ctx, part)
		if err != nil {
			c.state.Cursor = before
		}
		switch {
		case errors.Is(err, errTooLarge) && len(part) > 1:
			c.pageSize = len(part) / 2
		case err != nil:
			return err
		default:
			c.copied += len(part)
			events = events[len(part):]
		}
	}
	return nil
}

// copyPage copies events and the records that they are about in one commit.
func (c *copying) copyPage(ctx context.Context, events []dibs.Event) error {
	p := newPage()
	for i := range events {
		e := &events[i]
		if !e.ID.IsZero() {
			p.add(nameOf(e))
		}
		for _, entity := range []dibs.Entity{e.Entity, e.Before.Entity, e.After.Entity} {
			p.addEntity(e.Scope, entity)
		}
	}
	if err := p.load(ctx, c.source, c.target); err != nil {
		return err
	}
	return c.commit(ctx, c.withState(p.group(events)))
}

// nameOf returns the address of the name of an event.
func nameOf(e *dibs.Event) dibs.Ref {
	return dibs.Ref{Kind: dibs.KindName, Scope: dibs.ScopeOf(e.Namespace), ID: e.ID}
}

// page is what a commit copies: records as the source has them, all at one moment, and as the
// target has them.
type page struct {
	refs     []dibs.Ref // in the order in which they were added
	listed   map[dibs.Ref]bool
	old, now map[dibs.Ref]dibs.Record // in the target, and in the source
}

func newPage() *page { return &page{listed: make(map[dibs.Ref]bool)} }

func (p *page) add(ref dibs.Ref) {
	if !p.listed[ref] {
		p.listed[ref] = true
		p.refs = append(p.refs, ref)
	}
}

func (p *page) addEntity(scope string, entity dibs.Entity) {
	if entity != (dibs.Entity{}) {
		p.add(dibs.Ref{Kind: dibs.KindEntity, Scope: scope, ID: dibs.EntityID(scope, entity)})
	}
}

// load loads the records, and further ones without which the target could not store them: it has
// one active name for each entity and namespace. If a name takes the place of another one there,
// that one is copied too.
func (p *page) load(ctx context.Context, source, target dibs.Store) (err error) {
	for loaded := 0; loaded < len(p.refs); {
		loaded = len(p.refs)
		if p.old, err = load(ctx, target, p.refs); err != nil {
			return err
		}
		if p.now, err = load(ctx, source, p.refs); err != nil {
			return err
		}
		for _, r := range p.now {
			if n, ok := r.(*dibs.NameRecord); ok && n.State == dibs.Active {
				p.addEntity(n.Scope, n.Owner)
			}
		}
		for ref, r := range p.old {
			was, ok := r.(*dibs.EntityRecord)
			if !ok {
				continue
			}
			is, _ := p.now[ref].(*dibs.EntityRecord)
			for key, name := range was.Active {
				if is == nil || is.Active[key] != name {
					p.add(dibs.Ref{Kind: dibs.KindName, Scope: was.Scope, ID: name})
				}
			}
		}
	}
	return nil
}

func load(ctx context.Context, store dibs.Store, refs []dibs.Ref) (map[dibs.Ref]dibs.Record, error) {
	found, err := store.Load(ctx, refs)
	if err != nil {
		return nil, err
	}
	records := make(map[dibs.Ref]dibs.Record, len(found.Records))
	for _, r := range found.Records {
		records[r.Ref()] = r
	}
	return records, nil
}

// group returns the changes that make the target's records those of the source. Events of names
// that the source has deleted or forgotten meanwhile are left out: they went with the name.
func (p *page) group(events []dibs.Event) (g dibs.Group) {
	told, begins := make(map[dibs.Ref]bool), make(map[dibs.Ref]bool)
	for i := range events {
		e := events[i]
		e.Cursor = ""
		if e.ID.IsZero() {
			g.Events = append(g.Events, e)
			continue
		}
		ref := nameOf(&e)
		if n, ok := p.now[ref].(*dibs.NameRecord); ok && n.Canonical == e.Canonical {
			told[ref] = true
			begins[ref] = begins[ref] || e.Before.Epoch == 0
			g.Events = append(g.Events, e)
		}
	}
	for _, ref := range p.refs {
		was, is := p.old[ref], p.now[ref]
		if !told[ref] && (was == nil && is == nil || was != nil && is != nil && snapshot.SameRecord(was, is)) {
			continue
		}
		w := writeOf(was, is)
		// A name whose history begins was deleted before, with the events that the target has.
		w.Renew = w.Renew || was != nil && begins[ref]
		g.Reads = append(g.Reads, readOf(ref, was))
		g.Writes = append(g.Writes, w)
	}
	return g
}

func readOf(ref dibs.Ref, was dibs.Record) dibs.Read {
	if was == nil {
		return dibs.Read{Ref: ref}
	}
	return dibs.Read{Ref: ref, Rev: was.Revision()}
}

// writeOf returns the write that makes a record of the target that of the source. Nil means that
// it is absent.
func writeOf(was, is dibs.Record) dibs.Write {
	if is == nil {
		name, _ := was.(*dibs.NameRecord)
		return dibs.Write{Record: was, Delete: true, Was: stateOf(name), Yields: name != nil && name.State == dibs.Active}
	}
	w := dibs.Write{Record: is, Renew: was != nil && labelOf(was) != labelOf(is)} // it was forgotten
	if after, ok := is.(*dibs.NameRecord); ok {
		before, _ := was.(*dibs.NameRecord)
		w.Was = dibs.Free
		if before != nil {
			w.Was = before.State
			w.Yields = before.State == dibs.Active && (after.State != dibs.Active || after.Owner != before.Owner)
		}
	}
	return w
}

// stateOf returns the state of a name, and none of other records.
func stateOf(n *dibs.NameRecord) dibs.State {
	if n == nil {
		return ""
	}
	return n.State
}
