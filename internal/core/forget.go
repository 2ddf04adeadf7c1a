package core

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

func (c *core) Forget(ctx context.Context, req dibs.ForgetRequest) (dibs.Forgetting, error) {
	if err := c.refuseBound("forgetting"); err != nil {
		return dibs.Forgetting{}, err
	}
	scrubber, can := unobserved(c.store).(dibs.Scrubber)
	if req.Scrub && !can {
		return dibs.Forgetting{}, fmt.Errorf("%w: this engine cannot scrub its files; docs/privacy.md says what to do instead", dibs.ErrUnsupported)
	}
	f := &forgetter{core: c, person: rules.Person{Scope: req.Scope, Entity: req.Entity}, dryRun: req.DryRun}
	var err error
	if req.Namespace != "" || req.Value != "" {
		err = f.forgetOne(ctx, req)
	} else {
		err = f.forgetPerson(ctx)
		if err == nil && !f.changed {
			var known bool
			known, err = askAlone(ctx, c, f.rules().HasEntity(f.person))
			f.report.Unknown = !known
		}
	}
	f.report.Replayed = err == nil && !f.changed
	if err == nil && req.Scrub && !req.DryRun {
		err = scrubber.Scrub(ctx)
	}
	return f.report, err
}

// forgetter is one run of Forget.
type forgetter struct {
	*core
	person rules.Person
	dryRun bool

	report  dibs.Forgetting
	changed bool
}

func (f *forgetter) forgetOne(ctx context.Context, req dibs.ForgetRequest) error {
	job, err := f.rules().ForgetName(req)
	if err != nil {
		return err
	}
	result, err := perform(ctx, f.core, job, false)
	if err != nil {
		return err
	}
	f.note(result)
	return nil
}

// maxForgetRounds bounds how often a run searches again for events that came meanwhile.
const maxForgetRounds = 10

// forgetPerson forgets an entity: first it deletes the entity, so that none of its names
// resolves any more, then it forgets one name after another, and the entity last. It repeats
// this until a search finds nothing.
func (f *forgetter) forgetPerson(ctx context.Context) error {
	if _, err := f.rules().FindEntity(f.person.Scope, f.person.Entity); err != nil {
		return err
	}
	var after dibs.Cursor
	var left []dibs.Event // about the entity as a whole, not redacted yet
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
			if err := f.forgetIn(ctx, id); err != nil {
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
		"%s gets new names while it is being forgotten: stop that, and run forget again", f.person.Entity)}
}

// delete deletes the entity, if it exists.
func (f *forgetter) delete(ctx context.Context) error {
	if f.dryRun {
		return nil
	}
	r, err := f.rules().Apply(dibs.ApplyRequest{Commands: []dibs.Command{dibs.Delete{Scope: f.person.Scope, Entity: f.person.Entity}}})
	if err == nil {
		err = f.submit(ctx, newCall(r, true))
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

// mentions are the events of the feed that mention the person.
type mentions struct {
	names  []dibs.ID    // whose histories mention the person
	events []dibs.Event // about the entity as a whole
	last   dibs.Cursor  // of the feed
}

// search searches the feed after a cursor.
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
			case !f.person.IsIn(e):
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

// forgetIn forgets the person in a row that mentions it, and in the other rows in which the name was or is. Those
// that do not mention the person come first: only the others tell what the name took with it.
func (f *forgetter) forgetIn(ctx context.Context, id dibs.ID) error {
	rows, err := f.rowsOf(ctx, id)
	if err != nil {
		return err
	}
	if len(rows) == 1 {
		return f.forgetWith(ctx, id, nil)
	}
	var silent, telling []dibs.ID
	histories := make(map[dibs.ID][]dibs.Event)
	for _, row := range rows {
		if histories[row], err = f.eventsOf(ctx, row); err != nil {
			return err
		}
		if slices.ContainsFunc(histories[row], func(e dibs.Event) bool { return f.person.IsIn(&e) }) {
			telling = append(telling, row)
		} else {
			silent = append(silent, row)
		}
	}
	for _, row := range slices.Concat(silent, telling) {
		others := maps.Clone(histories)
		delete(others, row)
		if err := f.forgetWith(ctx, row, slices.Collect(maps.Values(others))); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf returns a row and all others that had or have the same name.
func (f *forgetter) rowsOf(ctx context.Context, id dibs.ID) ([]dibs.ID, error) {
	rows := []dibs.ID{id}
	for i := 0; i < len(rows); i++ {
		others, err := askAlone(ctx, f.core, f.rules().OtherRows(f.ref(rows[i])))
		if err != nil {
			return nil, err
		}
		for _, other := range others {
			if !slices.Contains(rows, other) {
				rows = append(rows, other)
			}
		}
	}
	return rows, nil
}

func (f *forgetter) ref(row dibs.ID) dibs.Ref {
	return dibs.Ref{Kind: dibs.KindName, Scope: f.person.Scope, ID: row}
}

// forgetWith forgets the person in one row and its history, a few events with each commit. It reads
// the record, then the history, and both again if the name changed in between.
func (f *forgetter) forgetWith(ctx context.Context, row dibs.ID, others [][]dibs.Event) error {
	var rev uint64
	var history []dibs.Event
	ref := f.ref(row)
	for known := false; ; {
		var err error
		if !known {
			if rev, err = askAlone(ctx, f.core, f.rules().Revision(ref)); err != nil {
				return err
			}
			if history, err = f.eventsOf(ctx, row); err != nil {
				return err
			}
		}
		result, failed := perform(ctx, f.core, f.rules().ForgetIn(ref, f.person, rev, history, others, f.dryRun), false)
		if failed != nil {
			return failed
		}
		if !result.Again {
			f.note(result)
			return nil
		}
		rev, known = result.Rev, len(result.Redacted) > 0
		replaceEvents(history, result.Redacted)
	}
}

// replaceEvents replaces events of a history.
func replaceEvents(history, by []dibs.Event) {
	replaced := make(map[dibs.Cursor]dibs.Event, len(by))
	for _, e := range by {
		replaced[e.Cursor] = e
	}
	for i := range history {
		if e, ok := replaced[history[i].Cursor]; ok {
			history[i] = e
		}
	}
}

// eventsOf returns all events of a row, oldest first.
func (f *forgetter) eventsOf(ctx context.Context, id dibs.ID) ([]dibs.Event, error) {
	var events []dibs.Event
	query := dibs.EventQuery{Name: id, Limit: maxPage}
	for {
		page, err := f.store.Events(ctx, query)
		if err != nil {
			return nil, err
		}
		events = append(events, rules.HideForgotten(page)...)
		if len(page) < query.Limit {
			slices.Reverse(events)
			return events, nil
		}
		query.After = page[len(page)-1].Cursor
	}
}

// note adds the outcome of a name to the report.
func (f *forgetter) note(result rules.Forgotten) {
	f.changed = f.changed || result.Changed
	f.report.Unknown = result.Unknown
	switch {
	case result.Name == nil:
	case result.Erased:
		f.report.Erased = append(f.report.Erased, *result.Name)
	default:
		f.report.Redacted = append(f.report.Redacted, *result.Name)
	}
}

// forgetEntity forgets the record of the entity and the events about it, once its names are
// forgotten. If the entity has names again, it reports that, and returns the events that are
// left.
func (f *forgetter) forgetEntity(ctx context.Context, events []dibs.Event) (left []dibs.Event, again bool, err error) {
	f.changed = f.changed || len(events) > 0
	for !f.dryRun {
		part := events[:min(len(events), rules.RedactAtOnce)]
		result, err := perform(ctx, f.core, f.rules().ForgetEntity(f.person, part), true)
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
