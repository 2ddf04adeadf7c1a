package storetest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
)

// telltale breaks Events: it changes the result.
func telltale(change func(events []dibs.Event) []dibs.Event) breakage {
	return func(f *fake, _ *Clock) {
		good := f.events
		f.events = func(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
			events, err := good(ctx, query)
			return change(events), err
		}
	}
}

// seeking breaks Events: it changes the query first.
func seeking(change func(query *dibs.EventQuery)) breakage {
	return func(f *fake, _ *Clock) {
		good := f.events
		f.events = func(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
			change(&query)
			return good(ctx, query)
		}
	}
}

// walking breaks Events: it reads all selected events one by one up to the start of the
// page, or up to the last event when it reads a history from its end.
func walking(selects func(query dibs.EventQuery) bool) breakage {
	return func(f *fake, _ *Clock) {
		good := f.events
		f.events = func(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
			for step := (dibs.EventQuery{Name: query.Name, Limit: 1}); selects(query) && (query.After == "" || step.After != query.After); {
				events, err := good(ctx, step)
				if err != nil || len(events) == 0 {
					break
				}
				step.After = events[0].Cursor
			}
			return good(ctx, query)
		}
	}
}

func brokenEvents() []broken {
	return []broken{
		{must: "events-order", how: "latest first", apply: telltale(func(events []dibs.Event) []dibs.Event {
			slices.Reverse(events)
			return events
		})},
		{must: "events-order", how: "reorders the events of a group", apply: committing(func(g *dibs.Group) { slices.Reverse(g.Events) })},
		{must: "events-gapless", how: "skips events of a slow commit", apply: lateFeed},
		{must: "events-gapless", how: "skips an event on resuming", apply: func(f *fake, _ *Clock) {
			good := f.events
			f.events = func(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
				events, err := good(ctx, query)
				if query.After != "" && len(events) > 0 {
					events = events[1:]
				}
				return events, err
			}
		}},
		{must: "events-gapless", how: "repeats an event on resuming", apply: func(f *fake, _ *Clock) {
			good := f.events
			f.events = func(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
				if n, err := strconv.Atoi(string(query.After)); err == nil && n > 1 && query.Limit > 1 {
					query.After = dibs.Cursor(strconv.Itoa(n - 1))
				}
				return good(ctx, query)
			}
		}},
		{must: "events-latest", how: "returns the start of the feed", apply: func(f *fake, _ *Clock) {
			f.latest = func(context.Context) (dibs.Cursor, error) { return "", nil }
		}},
		{must: "events-latest", how: "returns the first answer forever", apply: func(f *fake, _ *Clock) {
			good := f.latest
			once := sync.OnceValues(func() (dibs.Cursor, error) { return good(context.Background()) })
			f.latest = func(context.Context) (dibs.Cursor, error) { return once() }
		}},
		{must: "events-latest", how: "returns a position after the next event", apply: func(f *fake, _ *Clock) {
			good := f.latest
			f.latest = func(ctx context.Context) (dibs.Cursor, error) {
				latest, err := good(ctx)
				n, _ := strconv.Atoi(string(latest))
				return dibs.Cursor(strconv.Itoa(n + 1)), err
			}
		}},
		{must: "events-latest", how: "returns a position before the newest event", apply: func(f *fake, _ *Clock) {
			good := f.latest
			f.latest = func(ctx context.Context) (dibs.Cursor, error) {
				latest, err := good(ctx)
				if n, err := strconv.Atoi(string(latest)); err == nil && n > 1 {
					return dibs.Cursor(strconv.Itoa(n - 1)), nil
				}
				return latest, err
			}
		}},
		{must: "events-filter", how: "ignores the name", apply: seeking(func(q *dibs.EventQuery) { q.Name = dibs.ID{} })},
		{must: "events-filter", how: "ignores After", apply: seeking(func(q *dibs.EventQuery) { q.After = "" })},
		{must: "events-filter", how: "ignores the limit", apply: seeking(func(q *dibs.EventQuery) { q.Limit = 1000 })},
		{must: "events-history", how: "oldest first", apply: func(f *fake, _ *Clock) {
			good := f.events
			f.events = func(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
				events, err := good(ctx, query)
				if !query.Name.IsZero() {
					slices.Reverse(events)
				}
				return events, err
			}
		}},
		{must: "events-history", how: "resumes by offset from the end, which moves", apply: func(f *fake, _ *Clock) {
			good := f.events
			var read atomic.Int64
			f.events = func(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
				if query.Name.IsZero() {
					return good(ctx, query)
				}
				if query.After == "" {
					read.Store(0)
				}
				events, err := good(ctx, dibs.EventQuery{Name: query.Name, Limit: 10_000})
				events = events[min(int(read.Load()), len(events)):]
				events = events[:min(query.Limit, len(events))]
				read.Add(int64(len(events)))
				return events, err
			}
		}},
		{must: "events-seek", how: "returns the start of the feed", apply: func(f *fake, _ *Clock) {
			f.seek = func(context.Context, dibs.Instant) (dibs.Cursor, error) { return "", nil }
		}},
		{must: "events-seek", how: "returns the end of the feed", apply: func(f *fake, _ *Clock) {
			f.seek = func(ctx context.Context, _ dibs.Instant) (dibs.Cursor, error) { return f.latest(ctx) }
		}},
		{must: "events-seek", how: "skips events of the date itself", apply: func(f *fake, _ *Clock) {
			good := f.seek
			f.seek = func(ctx context.Context, at dibs.Instant) (dibs.Cursor, error) {
				return good(ctx, at.Add(time.Millisecond))
			}
		}},
		{must: "events-cost", how: "reads a history from its end to the page", apply: walking(func(q dibs.EventQuery) bool { return !q.Name.IsZero() })},
		{must: "events-cost", how: "reads the feed from its start to the page", apply: walking(func(q dibs.EventQuery) bool { return q.Name.IsZero() })},
		{must: "events-filter", how: "names alone", apply: telltale(func(events []dibs.Event) []dibs.Event {
			return slices.DeleteFunc(events, func(ev dibs.Event) bool { return ev.ID.IsZero() })
		})},
		{must: "events-filter", how: "limits before it filters", apply: func(f *fake, _ *Clock) {
			good := f.events
			f.events = func(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
				events, err := good(ctx, dibs.EventQuery{After: query.After, Limit: query.Limit})
				return slices.DeleteFunc(events, func(ev dibs.Event) bool {
					return !query.Name.IsZero() && ev.ID != query.Name
				}), err
			}
		}},
		{must: "events-exact", how: "lower-cases", apply: telltale(func(events []dibs.Event) []dibs.Event {
			for i := range events {
				events[i].Value = strings.ToLower(events[i].Value)
			}
			return events
		})},
		{must: "events-cursor", how: "starts over on a bad cursor", apply: func(f *fake, _ *Clock) {
			good := f.events
			f.events = func(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
				events, err := good(ctx, query)
				if errors.Is(err, dibs.ErrBadCursor) {
					query.After = ""
					return good(ctx, query)
				}
				return events, err
			}
		}},
		{must: "events-cursor", how: "returns another error", apply: func(f *fake, _ *Clock) {
			good := f.events
			f.events = func(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
				events, err := good(ctx, query)
				if err != nil {
					err = errors.New("syntax error")
				}
				return events, err
			}
		}},
		{must: "events-cursor", how: "ignores the invalid part of a cursor", apply: seeking(func(q *dibs.EventQuery) {
			q.After = dibs.Cursor(strings.TrimRight(string(q.After), " !"))
		})},
	}
}

// lateFeed breaks a store: it numbers events when a commit begins and shows them
// when it ends, as a sequence in a database does. Events of a slow commit may
// then appear before events that a reader has seen.
func lateFeed(f *fake, _ *Clock) {
	var mu sync.Mutex
	last := 0
	shown := make(map[int]dibs.Event)
	good := f.commit
	f.commit = func(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
		mu.Lock()
		first := last + 1
		last += len(groups[0].Events)
		mu.Unlock()
		if first%3 == 0 {
			time.Sleep(moment)
		}
		outcomes, err := good(ctx, groups)
		mu.Lock()
		defer mu.Unlock()
		for i, ev := range groups[0].Events {
			ev.Cursor = dibs.Cursor(strconv.Itoa(first + i))
			shown[first+i] = ev
		}
		return outcomes, err
	}
	f.events = func(_ context.Context, query dibs.EventQuery) (page []dibs.Event, err error) {
		mu.Lock()
		defer mu.Unlock()
		after, _ := strconv.Atoi(string(query.After))
		for i := after + 1; i <= last && len(page) < query.Limit; i++ {
			if ev, ok := shown[i]; ok {
				page = append(page, ev)
			}
		}
		return page, nil
	}
}
