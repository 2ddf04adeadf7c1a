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

// committing breaks Commit: it changes each group first.
func committing(change func(g *dibs.Group)) breakage {
	return func(f *fake, _ *Clock) {
		good := f.commit
		f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
			bent := make([]dibs.Group, len(groups))
			for i, g := range groups {
				g.Reads, g.Writes, g.Events = slices.Clone(g.Reads), slices.Clone(g.Writes), slices.Clone(g.Events)
				change(&g)
				bent[i] = g
			}
			return good(ctx, bent)
		}
	}
}

// present returns the current revision of a record.
func present(data dibs.Store, ref dibs.Ref) uint64 {
	s, err := data.Load(context.Background(), []dibs.Ref{ref})
	if err != nil || len(s.Records) == 0 {
		return 0
	}
	return s.Records[0].Revision()
}

// blind breaks Commit: it skips the comparison of some reads.
func blind(to func(read dibs.Read, present uint64, g *dibs.Group) bool) breakage {
	return func(f *fake, clock *Clock) {
		committing(func(g *dibs.Group) {
			for i, read := range g.Reads {
				if rev := present(f.data, read.Ref); to(read, rev, g) {
					g.Reads[i].Rev = rev
				}
			}
		})(f, clock)
	}
}

// writes reports whether a group writes a record.
func writes(g *dibs.Group, ref dibs.Ref) bool {
	return slices.ContainsFunc(g.Writes, func(w dibs.Write) bool { return w.Record.Ref() == ref })
}

// windowed breaks Commit: it changes the window of each group.
func windowed(change func(w *dibs.Window)) breakage {
	return committing(func(g *dibs.Group) { change(&g.Window) })
}

func brokenCommits() []broken {
	return []broken{
		{must: "commit-reads", how: "compares nothing", apply: blind(func(dibs.Read, uint64, *dibs.Group) bool { return true })},
		{must: "commit-reads", how: "compares only whether a record exists", apply: blind(func(read dibs.Read, rev uint64, _ *dibs.Group) bool {
			return (read.Rev == 0) == (rev == 0)
		})},
		{must: "commit-reads", how: "does not compare absent records", apply: blind(func(read dibs.Read, _ uint64, _ *dibs.Group) bool { return read.Rev == 0 })},
		{must: "commit-reads", how: "accepts a later revision than the stored one", apply: blind(func(read dibs.Read, rev uint64, _ *dibs.Group) bool { return read.Rev > rev && rev > 0 })},
		{must: "commit-reads", how: "updates a record that was deleted", apply: blind(func(_ dibs.Read, rev uint64, _ *dibs.Group) bool { return rev == 0 })},
		{must: "commit-read-only", how: "compares only the records it writes", apply: blind(func(read dibs.Read, _ uint64, g *dibs.Group) bool {
			return !writes(g, read.Ref)
		})},
		{must: "commit-read-only", how: "compares read-only records before it locks", apply: hasty(func(read dibs.Read, g *dibs.Group) bool {
			return !writes(g, read.Ref)
		})},
		{must: "commit-race", how: "compares before it locks", apply: hasty(func(dibs.Read, *dibs.Group) bool { return true })},
		{must: "commit-race", how: "reports every commit as the winner", apply: func(f *fake, _ *Clock) {
			good := f.commit
			f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
				outcomes, err := good(ctx, groups)
				for i := range outcomes {
					outcomes[i] = dibs.Committed
				}
				return outcomes, err
			}
		}},
		{must: "commit-window", how: "has none", apply: windowed(func(w *dibs.Window) { *w = dibs.Window{} })},
		{must: "commit-window", how: "ignores From", apply: windowed(func(w *dibs.Window) { w.From = 0 })},
		{must: "commit-window", how: "starts a millisecond early", apply: windowed(func(w *dibs.Window) { w.From-- })},
		{must: "commit-window", how: "starts a millisecond late", apply: windowed(func(w *dibs.Window) {
			if w.From != 0 {
				w.From++
			}
		})},
		{must: "commit-window", how: "ends a millisecond early", apply: windowed(func(w *dibs.Window) {
			if w.Before != 0 {
				w.Before--
			}
		})},
		{must: "commit-window", how: "ends a millisecond late", apply: windowed(func(w *dibs.Window) {
			if w.Before != 0 {
				w.Before++
			}
		})},
		{must: "commit-window", how: "rounds the clock up", apply: func(f *fake, clock *Clock) {
			windowed(func(w *dibs.Window) {
				if clock.Now().Nanosecond()%int(time.Millisecond) != 0 && w.Before != 0 {
					w.Before--
				}
			})(f, clock)
		}},
		{must: "commit-stale", how: "keeps the events of a stale group", apply: leaking(func(g dibs.Group) dibs.Group {
			return dibs.Group{Events: g.Events}
		})},
		{must: "commit-stale", how: "keeps the first write of a stale group", apply: leaking(func(g dibs.Group) dibs.Group {
			return dibs.Group{Writes: g.Writes[:1]}
		})},
		{must: "commit-stale", how: "keeps the last write of a stale group", apply: leaking(func(g dibs.Group) dibs.Group {
			return dibs.Group{Writes: g.Writes[len(g.Writes)-1:]}
		})},
		{must: "commit-outcomes", how: "returns the outcomes in the wrong order", apply: func(f *fake, _ *Clock) {
			good := f.commit
			f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
				outcomes, err := good(ctx, groups)
				slices.Reverse(outcomes)
				return outcomes, err
			}
		}},
		{must: "commit-revision", how: "assigns its own revisions", apply: committing(func(g *dibs.Group) {
			for i, w := range g.Writes {
				for _, read := range g.Reads {
					if d, ok := w.Record.(*dibs.Document); ok && read.Ref == d.Ref() {
						c := *d
						c.Rev = read.Rev + 1
						g.Writes[i].Record = &c
					}
				}
			}
		})},
	}
}

// hasty breaks Commit: it compares some reads shortly before it commits, and
// not again while it commits.
func hasty(some func(read dibs.Read, g *dibs.Group) bool) breakage {
	return func(f *fake, _ *Clock) {
		good := f.commit
		f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
			g := groups[0]
			for _, read := range g.Reads {
				if some(read, &g) && present(f.data, read.Ref) != read.Rev {
					return make([]dibs.Outcome, len(groups)), nil
				}
			}
			time.Sleep(moment)
			g.Reads = slices.DeleteFunc(slices.Clone(g.Reads), func(read dibs.Read) bool { return some(read, &g) })
			return good(ctx, append([]dibs.Group{g}, groups[1:]...))
		}
	}
}

// leaking breaks Commit: a stale or busy group leaves something behind.
func leaking(rest func(g dibs.Group) dibs.Group) breakage {
	return func(f *fake, _ *Clock) {
		good := f.commit
		f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
			outcomes, err := good(ctx, groups)
			for i, outcome := range outcomes {
				if outcome != dibs.Committed {
					if _, err := good(ctx, []dibs.Group{rest(groups[i])}); err != nil {
						return nil, err
					}
				}
			}
			return outcomes, err
		}
	}
}

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
