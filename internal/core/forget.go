package core

import (
	"context"
	"fmt"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// Forget erases a person, or a name.
func (c *core) Forget(ctx context.Context, req dibs.ForgetRequest) (dibs.Forgetting, error) {
	if c.writer == nil {
		return dibs.Forgetting{}, fmt.Errorf("%w: forgetting inside a transaction of the caller's own", dibs.ErrUnsupported)
	}
	scrubber, can := scrubberOf(c.store)
	if req.Scrub && !can {
		return dibs.Forgetting{}, fmt.Errorf("%w: this engine cannot scrub its files; docs/privacy.md says what to do instead", dibs.ErrUnsupported)
	}
	f := &forgetter{core: c, who: rules.Person{Scope: req.Scope, Entity: req.Entity}, dryRun: req.DryRun}
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
func scrubberOf(store dibs.Store) (dibs.Scrubber, bool) {
	store = unobserved(store)
	if whole, ok := store.(dibs.Partitioned); ok {
		if parts := whole.Parts(); len(parts) == 1 {
			store = parts[0].Store
		}
	}
	scrubber, can := store.(dibs.Scrubber)
	return scrubber, can
}

// forgetter is one run of Forget.
type forgetter struct {
	*core
	who    rules.Person
	dryRun bool

	report  dibs.Forgetting
	changed bool
}

// forgetOne forgets a single name.
func (f *forgetter) forgetOne(ctx context.Context, req dibs.ForgetRequest) error {
	job, err := f.rules().ForgetName(req)
	if err != nil {
		return err
	}
	if err := f.submit(ctx, newCall(job.Request)); err != nil {
		return err
	}
	result, _ := job.Result()
	f.note(result)
	return nil
}

// maxForgetRounds bounds how often a run looks again for what came while it looked.
const maxForgetRounds = 10

// forgetPerson forgets an entity: first nothing of it resolves any more, then one name
// after another goes, and the entity last. It ends when there is nothing to be found.
func (f *forgetter) forgetPerson(ctx context.Context) error {
	if _, err := f.rules().FindEntity(f.who.Scope, f.who.Entity); err != nil {
		return err
	}
	var (
		after dibs.Cursor
		left  []dibs.Event // about the entity, and not redacted yet
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
			if err := f.forgetIn(ctx, dibs.Ref{Kind: dibs.KindName, Scope: f.who.Scope, ID: id}); err != nil {
				return err
			}
		}
		var again bool
		left, again, err = f.forgetEntity(ctx, append(left, found.events...))
		if err != nil || f.dryRun || !again && len(found.names) == 0 {
			return err
		}
	}
	return &dibs.Error{Code: dibs.CodeUnavailable, Message: fmt.Sprintf(
		"%s is given names while it is forgotten: see to it that nobody does, and run it again", f.who.Entity)}
}

// delete is the Delete of the entity, if it is there.
func (f *forgetter) delete(ctx context.Context) error {
	if f.dryRun {
		return nil
	}
	r, err := f.rules().Apply(dibs.ApplyRequest{Commands: []dibs.Command{dibs.Delete{Scope: f.who.Scope, Entity: f.who.Entity}}})
	if err == nil {
		call := newCall(r)
		call.noWait = true
		err = f.submit(ctx, call)
	}
	switch {
	case err == nil:
		results, _ := r.Result()
		f.changed = f.changed || !results[0].Replayed
		return nil
	case err.Code == dibs.CodeEntityNotFound:
		return nil
	default:
		return err
	}
}

// mentions is where in the feed the person is.
type mentions struct {
	names  []dibs.ID    // in whose histories
	events []dibs.Event // about the entity as a whole
	last   dibs.Cursor
}

// search reads the feed behind a cursor.
func (f *forgetter) search(ctx context.Context, after dibs.Cursor) (found mentions, err error) {
	found.last = after
	seen := make(map[dibs.ID]bool)
	for {
		page, err := f.store.Events(ctx, dibs.EventQuery{After: found.last, Limit: maxPage})
		if err != nil {
			return found, err
		}
		for i := range page {
			e := &page[i]
			found.last = e.Cursor
			switch {
			case !f.who.IsIn(e):
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
func (f *forgetter) forgetIn(ctx context.Context, ref dibs.Ref) error {
	for {
		rev, err := askAlone(ctx, f.core, f.rules().Revision(ref))
		if err != nil {
			return err
		}
		history, err := f.eventsOf(ctx, ref.ID)
		if err != nil {
			return err
		}
		job := f.rules().ForgetIn(ref, f.who, rev, history, f.dryRun)
		if err := f.submit(ctx, newCall(job.Request)); err != nil {
			return err
		}
		if result, _ := job.Result(); !result.Again {
			f.note(result)
			return nil
		}
	}
}

// note takes what became of a name into the report.
func (f *forgetter) note(result rules.Forgotten) {
	f.changed = f.changed || result.Changed
	switch {
	case result.Name == nil:
	case result.Erased:
		f.report.Erased = append(f.report.Erased, *result.Name)
	default:
		f.report.Redacted = append(f.report.Redacted, *result.Name)
	}
}

// forgetEntity forgets what is left of the person when its names are gone. If it has names
// again, it reports so, and which of the events are left.
func (f *forgetter) forgetEntity(ctx context.Context, events []dibs.Event) (left []dibs.Event, again bool, err error) {
	f.changed = f.changed || len(events) > 0
	for !f.dryRun {
		part := events[:min(len(events), rules.RedactAtOnce)]
		result, err := perform(ctx, f.core, f.rules().ForgetEntity(f.who, part))
		if err != nil {
			return nil, false, err
		}
		f.changed = f.changed || result.Changed
		if result.HasNames {
			return events, true, nil
		}
		if events = events[len(part):]; len(events) == 0 {
			break
		}
	}
	return nil, false, nil
}
