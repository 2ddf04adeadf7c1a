package core

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/internal/rules"
)

// maxOwned is how many names of an entity are shown.
const maxOwned = 10_000

func (c *core) Check(ctx context.Context, req dibs.CheckRequest) ([]dibs.Availability, error) {
	question, invalid := c.rules().Check(req)
	if invalid != nil {
		return nil, invalid
	}
	answers, err := ask(ctx, c, question)
	if err != nil {
		return nil, err
	}
	return answers, c.suggestAnswers(ctx, req, answers)
}

func (c *core) Get(ctx context.Context, lookup dibs.Lookup) (dibs.Name, error) {
	question, err := c.rules().LookUp(lookup)
	if err != nil {
		return dibs.Name{}, err
	}
	return ask(ctx, c, question)
}

type nameQuery struct{ namespace, value string }

func (c *core) Resolve(ctx context.Context, q nameQuery) (dibs.Resolution, error) {
	question, err := c.rules().Resolve(q.namespace, q.value)
	switch {
	case err == nil:
		c.destinations.expect(question.Request)
		answer, err := ask(ctx, c, question)
		if err == nil {
			c.destinations.note(question.Request, &answer)
		}
		return answer, err
	case err.Code == dibs.CodeInvalidValue: // no name has this value
		return dibs.Resolution{Outcome: dibs.ResolveNotFound, Status: 404}, nil
	default:
		return dibs.Resolution{}, err
	}
}

// Entity returns an entity with its names. It reads the entity, then the names, and both again
// if the entity changed in between.
func (c *core) Entity(ctx context.Context, q rules.Person) (dibs.EntityInfo, error) {
	question, invalid := c.rules().FindEntity(q.Scope, q.Entity)
	if invalid != nil {
		return dibs.EntityInfo{}, invalid
	}
	var records []*dibs.NameRecord
	found, err := askUnchanged(ctx, c, question, func(e rules.EntityAsOf) uint64 { return e.Rev }, func(rules.EntityAsOf) (err error) {
		records, err = c.store.Owned(ctx, q.Scope, q.Entity, maxOwned)
		return err
	})
	if err != nil {
		return dibs.EntityInfo{}, err
	}
	names, err := c.namesAsOf(ctx, records, found.Now)
	if err != nil {
		return dibs.EntityInfo{}, err
	}
	info := dibs.EntityInfo{
		Entity: found.Entity, Scope: found.Scope, Archived: found.Archived, Version: found.Rev, More: len(records) == maxOwned,
	}
	for _, n := range names {
		if n != nil && (n.State == dibs.Active || n.State == dibs.Alias) {
			n.Archived = found.Archived
			info.Names = append(info.Names, *n)
		}
	}
	return info, nil
}

// namesAsOf returns the names of records in their present state, in the same order. It reads
// names that have changed by time alone again, once that end is final. A nil name is gone by
// then.
func (c *core) namesAsOf(ctx context.Context, records []*dibs.NameRecord, now dibs.Instant) ([]*dibs.Name, error) {
	names := make([]*dibs.Name, len(records))
	var open []int
	var refs []dibs.Ref
	for i, r := range records {
		name, end := rules.ShowAsOf(r, now)
		names[i] = &name
		if end.At != 0 && !c.ends.isFinal(end) {
			open, refs = append(open, i), append(refs, r.Ref())
		}
	}
	if len(open) == 0 {
		return names, nil
	}
	again, err := askAlone(ctx, c, c.rules().ReadNames(refs))
	for k, name := range again {
		names[open[k]] = name
	}
	return names, err
}

const (
	defaultPage = 100 // the size of a page if the caller does not say
	maxPage     = 1000
)

// notFree are all states except Free.
var notFree = []dibs.State{dibs.Held, dibs.Suspect, dibs.Active, dibs.Alias, dibs.Quarantined}

// List returns a page of names in their present state, and says which belong to archived entities.
func (c *core) List(ctx context.Context, query dibs.NamesQuery) (dibs.NamesPage, error) {
	page, err := c.list(ctx, query)
	if err != nil {
		return dibs.NamesPage{}, err
	}
	return page, c.markArchived(ctx, page.Names)
}

// markArchived marks the names of archived entities. It reads each entity once.
func (c *core) markArchived(ctx context.Context, names []dibs.Name) error {
	owned := make(map[dibs.ID][]int) // names by the entity
	var refs []dibs.Ref
	for i, n := range names {
		if n.State != dibs.Active && n.State != dibs.Alias {
			continue
		}
		scope := dibs.ScopeOf(n.Namespace)
		ref := dibs.Ref{Kind: dibs.KindEntity, Scope: scope, ID: dibs.EntityID(scope, n.Entity)}
		if owned[ref.ID] == nil {
			refs = append(refs, ref)
		}
		owned[ref.ID] = append(owned[ref.ID], i)
	}
	if len(refs) == 0 {
		return nil
	}
	loaded, err := c.store.Load(ctx, refs)
	if err != nil {
		return err
	}
	for _, r := range loaded.Records {
		if e, ok := r.(*dibs.EntityRecord); ok && e.Archived {
			for _, i := range owned[e.ID] {
				names[i].Archived = true
			}
		}
	}
	return nil
}

// list returns a page of names in their present state, which may differ from the stored one: a
// hold is over before the sweeper writes that. The engine lists the names that are stored in the
// wanted state, and [core.ended] those that have come to it by themselves.
func (c *core) list(ctx context.Context, query dibs.NamesQuery) (dibs.NamesPage, error) {
	list, err := engineQuery(query)
	if err != nil {
		return dibs.NamesPage{}, err
	}
	now, err := c.engineNow(ctx)
	if err != nil {
		return dibs.NamesPage{}, err
	}
	if query.EndingWithin != 0 {
		return c.listEnding(ctx, query, list.Limit, now)
	}
	ended, err := c.ended(ctx, &list, query.State, now)
	if err != nil {
		return dibs.NamesPage{}, err
	}
	var page dibs.NamesPage
	var last dibs.ListPosition
	for more := true; more; {
		var records []*dibs.NameRecord
		if records, more, err = listPage[*dibs.NameRecord](ctx, c.store, &list); err != nil {
			return dibs.NamesPage{}, err
		}
		records, ended = mergeEnded(records, ended, more)
		names, err := c.namesAsOf(ctx, records, now)
		if err != nil {
			return dibs.NamesPage{}, err
		}
		for i, r := range records {
			if len(page.Names) == list.Limit {
				page.Next = encodePosition(last)
				return page, nil
			}
			last = record.Position(r)
			if n := names[i]; n != nil && (n.State == query.State || (query.State == "" && n.State != dibs.Free)) {
				page.Names = append(page.Names, *n)
			}
		}
	}
	return page, nil
}

// maxEnding is how far ahead holds can be listed by their end: engines may read everything that is
// due until then.
const maxEnding = time.Hour

// listEnding returns the holds that end soon, the soonest first.
func (c *core) listEnding(ctx context.Context, query dibs.NamesQuery, limit int, now dibs.Instant) (page dibs.NamesPage, _ error) {
	switch {
	case query.EndingWithin < 0 || query.EndingWithin > maxEnding:
		return page, &dibs.Error{Code: dibs.CodeInvalidValue, Message: "holds are listed by their end up to an hour ahead"}
	case query.State != "" && query.State != dibs.Held || query.Prefix != "" || query.Cursor != "":
		return page, &dibs.Error{Code: dibs.CodeInvalidValue, Message: "a list of holds by their end has no other state, no prefix and no cursor"}
	}
	list := dibs.ListQuery{Kind: dibs.KindName, Namespace: query.Namespace, DueBefore: now.Add(query.EndingWithin) + 1, Limit: limit}
	records, _, err := listPage[*dibs.NameRecord](ctx, c.store, &list)
	if err != nil {
		return page, err
	}
	names, err := c.namesAsOf(ctx, records, now)
	if err != nil {
		return page, err
	}
	for _, n := range names {
		if n != nil && n.State == dibs.Held { // the sweeper has not written yet that it is over
			page.Names = append(page.Names, *n)
		}
	}
	return page, nil
}

// earlier are the states that become the given one by themselves, also by way of another one.
var earlier = map[dibs.State][]dibs.State{
	dibs.Suspect:     {dibs.Held},
	dibs.Quarantined: {dibs.Held, dibs.Alias},
	dibs.Free:        {dibs.Held, dibs.Alias, dibs.Quarantined},
}

// ended returns the names that a query selects and that have come to the wanted state by
// themselves, in order: they are among the records that are due. If more are due than it reads,
// because the sweeper is behind, it returns none, and extends the query to the states from which
// names can have come. Names that are swept later are already here, and those that were swept
// before are stored in the wanted state, so the engine has to list them afterwards.
func (c *core) ended(ctx context.Context, list *dibs.ListQuery, wanted dibs.State, now dibs.Instant) ([]*dibs.NameRecord, error) {
	if len(earlier[wanted]) == 0 {
		return nil, nil
	}
	due, err := c.store.Due(ctx, maxPage)
	if err != nil {
		return nil, err
	}
	if len(due) >= maxPage {
		list.States = append(list.States, earlier[wanted]...)
		return nil, nil
	}
	due = slices.DeleteFunc(due, func(ref dibs.Ref) bool {
		return ref.Kind != dibs.KindName || (list.Namespace != "" && ref.Scope != dibs.ScopeOf(list.Namespace))
	})
	if len(due) == 0 {
		return nil, nil
	}
	loaded, err := c.store.Load(ctx, due)
	if err != nil {
		return nil, err
	}
	selected := *list
	selected.States = earlier[wanted]
	var ended []*dibs.NameRecord
	for _, r := range loaded.Records {
		if n, ok := r.(*dibs.NameRecord); ok && record.IsSelected(selected, n) && rules.StateAsOf(n, now) == wanted &&
			(list.After == nil || record.ComparePositions(record.Position(n), *list.After) > 0) {
			ended = append(ended, n)
		}
	}
	slices.SortFunc(ended, compareNames)
	return ended, nil
}

// mergeEnded merges the names that ended into a page of the engine, in order. It returns those
// that belong to later pages. A name that the engine lists too was swept meanwhile.
func mergeEnded(page, ended []*dibs.NameRecord, more bool) (merged, rest []*dibs.NameRecord) {
	n := len(ended)
	if more {
		i, same := slices.BinarySearchFunc(ended, page[len(page)-1], compareNames)
		if n = i; same {
			n++
		}
	}
	if n == 0 {
		return page, ended
	}
	merged = slices.Concat(page, ended[:n])
	slices.SortStableFunc(merged, compareNames)
	return slices.CompactFunc(merged, func(a, b *dibs.NameRecord) bool { return compareNames(a, b) == 0 }), ended[n:]
}

func compareNames(a, b *dibs.NameRecord) int {
	return record.ComparePositions(record.Position(a), record.Position(b))
}

// engineQuery returns the query for the names that the engine has in the wanted state.
func engineQuery(q dibs.NamesQuery) (dibs.ListQuery, error) {
	list := dibs.ListQuery{Kind: dibs.KindName, Namespace: q.Namespace, Limit: pageSize(q.Limit, defaultPage), States: []dibs.State{q.State}}
	if q.Namespace != "" {
		if err := rules.CheckNamespace(q.Namespace); err != nil {
			return list, err
		}
	}
	switch q.State {
	case "":
		list.States = notFree
	case dibs.Held, dibs.Suspect, dibs.Active, dibs.Alias, dibs.Quarantined, dibs.Free:
	default:
		return list, &dibs.Error{Code: dibs.CodeInvalidValue, Message: fmt.Sprintf("unknown state %.80q: use held, suspect, active, alias, quarantined or free", q.State)}
	}
	if !utf8.ValidString(q.Prefix) {
		return list, &dibs.Error{Code: dibs.CodeInvalidValue, Message: "the prefix is not valid UTF-8"}
	}
	if q.Prefix != "" {
		list.From, list.To = q.Prefix, afterPrefix(q.Prefix)
	}
	if q.Cursor != "" {
		position, err := decodePosition(q.Cursor)
		if err != nil {
			return list, err
		}
		list.After = &position
	}
	return list, nil
}

func pageSize(limit, usual int) int {
	if limit <= 0 {
		return usual
	}
	return min(limit, maxPage)
}

// afterPrefix returns the first text after all texts with the prefix, or "" if there is none.
// The order of bytes is the order of code points.
func afterPrefix(prefix string) string {
	const firstSurrogate, lastSurrogate = 0xD800, 0xDFFF // which are not code points of UTF-8
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch last {
		case utf8.MaxRune:
			continue
		case firstSurrogate - 1:
			last = lastSurrogate
		}
		return prefix + string(last+1)
	}
	return ""
}

func encodePosition(p dibs.ListPosition) string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.Namespace + ":" + p.Label))
}

func decodePosition(cursor string) (dibs.ListPosition, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	namespace, label, ok := strings.Cut(string(text), ":")
	if err != nil || !ok || !utf8.Valid(text) {
		return dibs.ListPosition{}, dibs.ErrBadCursor
	}
	return dibs.ListPosition{Namespace: namespace, Label: label}, nil
}

// listAll returns all records that a query selects, up to the first error.
func listAll[R dibs.Record](ctx context.Context, store dibs.Store, query dibs.ListQuery) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for more := true; more; {
			var page []R
			var err error
			if page, more, err = listPage[R](ctx, store, &query); err != nil {
				var none R
				yield(none, err)
				return
			}
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// listPage returns a page of records and advances the query to the next page. It reports
// whether there may be one.
func listPage[R dibs.Record](ctx context.Context, store dibs.Store, query *dibs.ListQuery) (page []R, more bool, err error) {
	records, err := store.List(ctx, *query)
	if err != nil || len(records) == 0 {
		return nil, false, err
	}
	page = make([]R, len(records))
	for i, r := range records {
		var ok bool
		if page[i], ok = r.(R); !ok {
			return nil, false, fmt.Errorf("dibs: the engine listed a %T for the kind %v", r, query.Kind)
		}
	}
	last := record.Position(records[len(records)-1])
	query.After = &last
	return page, len(records) == query.Limit, nil
}

// endingSoon is the time within which a hold must end to be counted as ending soon.
const endingSoon = time.Minute

// Stats counts all names that are not free. The engine counts them in their stored state, and the
// names whose date has come are counted again in their present one: at most maxPage of them, which
// is all unless the sweeper is behind.
func (c *core) Stats(ctx context.Context) (dibs.Stats, error) {
	now, err := c.engineNow(ctx)
	if err != nil {
		return dibs.Stats{}, err
	}
	stats, err := c.store.Count(ctx, now.Add(endingSoon))
	if err != nil {
		return dibs.Stats{}, err
	}
	due, err := c.store.Due(ctx, maxPage)
	if err != nil {
		return dibs.Stats{}, err
	}
	loaded, err := c.store.Load(ctx, due)
	if err != nil {
		return dibs.Stats{}, err
	}
	counts := make(map[dibs.NameCount]int, len(stats.Names))
	for _, s := range stats.Names {
		counts[dibs.NameCount{Namespace: s.Namespace, State: s.State}] += s.Count
	}
	for _, r := range loaded.Records {
		n, ok := r.(*dibs.NameRecord)
		if !ok || n.State == dibs.Free {
			continue
		}
		present := rules.StateAsOf(n, now)
		counts[dibs.NameCount{Namespace: n.Namespace, State: n.State}]--
		counts[dibs.NameCount{Namespace: n.Namespace, State: present}]++
		if n.State == dibs.Held && present != dibs.Held {
			stats.EndingSoon--
		}
	}
	// The counts and the names that are due are of different moments.
	stats = dibs.Stats{EndingSoon: max(stats.EndingSoon, 0)}
	for key, n := range counts {
		if key.Count = n; n > 0 && key.State != dibs.Free {
			stats.Names = append(stats.Names, key)
		}
	}
	slices.SortFunc(stats.Names, compareCounts)
	return stats, nil
}

func compareCounts(a, b dibs.NameCount) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.State, b.State))
}
