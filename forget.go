package dibs

import (
	"context"
	"fmt"
)

// Forget erases a person, or a name.
func (c *core) Forget(ctx context.Context, req ForgetRequest) (Forgetting, error) {
	if c.writer == nil {
		return Forgetting{}, fmt.Errorf("%w: forgetting inside a transaction of the caller's own", ErrUnsupported)
	}
	scrubber, can := scrubberOf(c.store)
	if req.Scrub && !can {
		return Forgetting{}, fmt.Errorf("%w: this engine cannot scrub its files; docs/privacy.md says what to do instead", ErrUnsupported)
	}
	f := &forgetter{core: c, who: person{req.Scope, req.Entity}, dryRun: req.DryRun}
	var err error
	if req.Namespace != "" || req.Value != "" {
		err = f.forgetOne(ctx, req)
	} else {
		err = f.forgetPerson(ctx)
	}
	f.report.Replayed = err == nil && !f.changed
	if err == nil && req.Scrub && !req.DryRun {
		err = scrubber.Scrub(ctx)
	}
	return f.report, err
}

// scrubberOf returns what can scrub the files of an engine. A store that consists of one
// engine alone is opened as a whole, and cannot tell what that one can.
func scrubberOf(store Store) (Scrubber, bool) {
	store = unobserved(store)
	if whole, ok := store.(Partitioned); ok {
		if parts := whole.Parts(); len(parts) == 1 {
			store = parts[0].Store
		}
	}
	scrubber, can := store.(Scrubber)
	return scrubber, can
}

// forgetter is one run of Forget.
type forgetter struct {
	*core
	who    person
	dryRun bool

	report  Forgetting
	changed bool
}

// forgetOne forgets a single name.
func (f *forgetter) forgetOne(ctx context.Context, req ForgetRequest) error {
	job, err := f.rules().forgetName(req)
	if err != nil {
		return err
	}
	if err := f.submit(ctx, newCall(job.request)); err != nil {
		return err
	}
	result, _ := job.result()
	f.note(result)
	return nil
}

// maxForgetRounds bounds how often a run looks again for what came while it looked.
const maxForgetRounds = 10

// forgetPerson forgets an entity: first nothing of it resolves any more, then one name
// after another goes, and the entity last. It ends when there is nothing to be found.
func (f *forgetter) forgetPerson(ctx context.Context) error {
	if _, err := f.rules().findEntity(f.who.scope, f.who.Entity); err != nil {
		return err
	}
	var (
		after Cursor
		left  []Event // about the entity, and not redacted yet
	)
	for range maxForgetRounds {
		if err := f.delete(ctx); err != nil {
			return err
		}
		found, err := f.search(ctx, after)
		if err != nil {
			return err
		}
		after = found.last
		for _, id := range found.names {
			if err := f.forgetIn(ctx, Ref{KindName, f.who.scope, id}); err != nil {
				return err
			}
		}
		var again bool
		left, again, err = f.forgetEntity(ctx, append(left, found.events...))
		if err != nil || f.dryRun || !again && len(found.names) == 0 {
			return err
		}
	}
	return &Error{Code: CodeUnavailable, Message: fmt.Sprintf(
		"%s is given names while it is forgotten: see to it that nobody does, and run it again", f.who.Entity)}
}

// delete is the Delete of the entity, if it is there.
func (f *forgetter) delete(ctx context.Context) error {
	if f.dryRun {
		return nil
	}
	r, err := newRequest(f.rules(), ApplyRequest{Commands: []Command{Delete{Scope: f.who.scope, Entity: f.who.Entity}}})
	if err == nil {
		call := newCall(r)
		call.noWait = true
		err = f.submit(ctx, call)
	}
	switch {
	case err == nil:
		results, _ := r.result()
		f.changed = f.changed || !results[0].Replayed
		return nil
	case err.Code == CodeEntityNotFound:
		return nil
	default:
		return err
	}
}

// mentions is where in the feed the person is.
type mentions struct {
	names  []ID    // in whose histories
	events []Event // about the entity as a whole
	last   Cursor
}

// search reads the feed behind a cursor.
func (f *forgetter) search(ctx context.Context, after Cursor) (found mentions, err error) {
	found.last = after
	seen := make(map[ID]bool)
	for {
		page, err := f.store.Events(ctx, EventQuery{After: found.last, Limit: maxPage})
		if err != nil {
			return found, err
		}
		for i := range page {
			e := &page[i]
			found.last = e.Cursor
			switch {
			case !f.who.isIn(e):
			case e.ID.IsZero():
				found.events = append(found.events, *e)
			case !seen[e.ID]:
				seen[e.ID] = true
				found.names = append(found.names, e.ID)
			}
		}
		if len(page) < maxPage {
			return found, nil
		}
	}
}

// forgetIn forgets the person in one name and its history. The two are read one after the
// other; if the name has changed in between, both are read again.
func (f *forgetter) forgetIn(ctx context.Context, ref Ref) error {
	for {
		rev, err := askAlone(ctx, f.core, f.rules().revision(ref))
		if err != nil {
			return err
		}
		history, err := f.eventsOf(ctx, ref.ID)
		if err != nil {
			return err
		}
		job := f.rules().forgetIn(ref, f.who, rev, history, f.dryRun)
		if err := f.submit(ctx, newCall(job.request)); err != nil {
			return err
		}
		if result, _ := job.result(); !result.again {
			f.note(result)
			return nil
		}
	}
}

// note takes what became of a name into the report.
func (f *forgetter) note(result forgotten) {
	f.changed = f.changed || result.changed
	switch {
	case result.name == nil:
	case result.erased:
		f.report.Erased = append(f.report.Erased, *result.name)
	default:
		f.report.Redacted = append(f.report.Redacted, *result.name)
	}
}

// forgetEntity forgets what is left of the person when its names are gone. If it has names
// again, it reports so, and which of the events are left.
func (f *forgetter) forgetEntity(ctx context.Context, events []Event) (left []Event, again bool, err error) {
	f.changed = f.changed || len(events) > 0
	for !f.dryRun {
		part := events[:min(len(events), redactAtOnce)]
		result, err := perform(ctx, f.core, f.rules().forgetEntity(f.who, part))
		if err != nil {
			return nil, false, err
		}
		f.changed = f.changed || result.changed
		if result.hasNames {
			return events, true, nil
		}
		if events = events[len(part):]; len(events) == 0 {
			break
		}
	}
	return nil, false, nil
}
