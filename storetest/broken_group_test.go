package storetest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/calldibs/dibs"
)

// inSteps breaks Commit: the parts of its first group become visible one after
// another.
func inSteps(parts func(g dibs.Group) []dibs.Group) breakage {
	return func(f *fake, _ *Clock) {
		good := f.commit
		f.commit = func(ctx context.Context, groups []dibs.Group) (outcomes []dibs.Outcome, err error) {
			if len(groups) != 1 || len(groups[0].Writes) < 2 {
				return good(ctx, groups)
			}
			for _, part := range parts(groups[0]) {
				if outcomes, err = good(ctx, []dibs.Group{part}); err != nil || outcomes[0] == dibs.Stale {
					return outcomes, err
				}
				time.Sleep(moment)
			}
			return outcomes, nil
		}
	}
}

func brokenGroups() []broken {
	return []broken{
		{must: "commit-atomic", how: "records first", apply: inSteps(func(g dibs.Group) []dibs.Group {
			return []dibs.Group{{Reads: g.Reads, Writes: g.Writes}, {Events: g.Events}}
		})},
		{must: "commit-atomic", how: "events first", apply: inSteps(func(g dibs.Group) []dibs.Group {
			return []dibs.Group{{Reads: g.Reads, Events: g.Events}, {Writes: g.Writes}}
		})},
		{must: "commit-atomic", how: "deletions later", apply: inSteps(func(g dibs.Group) []dibs.Group {
			var stored, deleted []dibs.Write
			for _, w := range g.Writes {
				if w.Delete {
					deleted = append(deleted, w)
				} else {
					stored = append(stored, w)
				}
			}
			return []dibs.Group{{Reads: g.Reads, Writes: stored, Events: g.Events}, {Writes: deleted}}
		})},
		{must: "commit-atomic", how: "drops the events", apply: committing(func(g *dibs.Group) { g.Events = nil })},
		{must: "commit-delete", how: "deletes nothing", apply: committing(func(g *dibs.Group) {
			g.Writes = slices.DeleteFunc(g.Writes, func(w dibs.Write) bool { return w.Delete })
		})},
		{must: "commit-delete", how: "keeps the events", apply: keeping(func(events []dibs.Event) []dibs.Event { return events })},
		{must: "commit-delete", how: "deletes only the last event", apply: keeping(func(events []dibs.Event) []dibs.Event { return events[:max(0, len(events)-1)] })},
		{must: "commit-delete", how: "forgets the cursors of deleted events", apply: func(f *fake, _ *Clock) {
			good := f.events
			f.events = func(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
				all, err := good(ctx, dibs.EventQuery{Limit: 1000})
				if err == nil && query.After != "" && !slices.ContainsFunc(all, func(ev dibs.Event) bool { return ev.Cursor == query.After }) {
					return nil, dibs.ErrBadCursor
				}
				return good(ctx, query)
			}
		}},
		{must: "commit-delete", how: "renumbers the events", apply: func(f *fake, _ *Clock) {
			good := f.events
			f.events = func(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
				after, _ := strconv.Atoi(string(query.After))
				limit := query.Limit
				query.After, query.Limit = "", 1000
				events, err := good(ctx, query)
				for i := range events {
					events[i].Cursor = dibs.Cursor(strconv.Itoa(i + 1))
				}
				events = events[min(after, len(events)):]
				return events[:min(limit, len(events))], err
			}
		}},
		{must: "commit-yields", how: "checks a unique index row by row", apply: rowByRow(func(ws []dibs.Write) []dibs.Write { return ws })},
		{must: "commit-yields", how: "checks a unique index row by row, from the last", apply: rowByRow(func(ws []dibs.Write) []dibs.Write {
			slices.Reverse(ws)
			return ws
		})},
		{must: "commit-stale-first", how: "checks a unique index before the revisions", apply: rowByRow(func(ws []dibs.Write) []dibs.Write {
			slices.SortStableFunc(ws, func(a, b dibs.Write) int { return cmp.Compare(yielding(b), yielding(a)) })
			return ws
		})},
	}
}

// rowByRow breaks Commit: it has a unique index on active names, and writes in
// some order before it compares revisions.
func rowByRow(order func([]dibs.Write) []dibs.Write) breakage {
	return func(f *fake, _ *Clock) {
		good := f.commit
		f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
			rows := make(map[dibs.ID]*dibs.NameRecord)
			for _, n := range allNames(f.data) {
				rows[n.ID] = n
			}
			for _, w := range order(slices.Clone(groups[0].Writes)) {
				n, ok := w.Record.(*dibs.NameRecord)
				if !ok {
					continue
				}
				delete(rows, n.ID)
				if w.Delete {
					continue
				}
				for _, other := range rows {
					if n.State == dibs.Active && other.State == dibs.Active && other.Owner == n.Owner &&
						other.Namespace == n.Namespace && other.Line == n.Line {
						return nil, errors.New("duplicate key value violates unique constraint")
					}
				}
				rows[n.ID] = n
			}
			return good(ctx, groups)
		}
	}
}

// yielding is the sort key that puts the yielding writes of a group first.
func yielding(w dibs.Write) int {
	if w.Yields {
		return 1
	}
	return 0
}

// allNames returns all names.
func allNames(data dibs.Store) []*dibs.NameRecord {
	records, err := data.List(context.Background(), dibs.ListQuery{Kind: dibs.KindName, Limit: 1 << 20})
	if err != nil {
		return nil
	}
	names := make([]*dibs.NameRecord, len(records))
	for i, record := range records {
		names[i] = record.(*dibs.NameRecord)
	}
	return names
}

// keeping breaks deletions: it keeps some events of a deleted name.
func keeping(pick func(events []dibs.Event) []dibs.Event) func(f *fake, _ *Clock) {
	return func(f *fake, _ *Clock) {
		good := f.commit
		f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
			kept := slices.Clone(groups)
			for i, g := range groups {
				for _, w := range g.Writes {
					if !w.Delete || w.Record.Ref().Kind != dibs.KindName {
						continue
					}
					events, err := f.data.Events(ctx, dibs.EventQuery{Name: w.Record.Ref().ID, Limit: 1000})
					if err != nil {
						return nil, err
					}
					slices.Reverse(events) // oldest first
					kept[i].Events = append(slices.Clip(kept[i].Events), pick(events)...)
				}
			}
			return good(ctx, kept)
		}
	}
}
