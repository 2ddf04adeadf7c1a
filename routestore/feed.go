package routestore

import (
	"context"
	"fmt"
	"sync"

	"github.com/calldibs/dibs"
)

// readFeed merges the events of some parts: of the next events of all parts, the one with the
// earliest date comes first. So the order depends on the cursor alone, no part waits for another,
// and the events of each part keep their order. readFeed fails if one part fails, since it must
// not leave out events. The history of a name is in one part and needs no merging.
func readFeed(ctx context.Context, t *table, parts []*part, query dibs.EventQuery) ([]dibs.Event, error) {
	at, err := t.decode(query.After)
	if err != nil {
		return nil, err
	}
	pages, err := ofEach(ctx, parts, func(p *part) ([]dibs.Event, error) {
		own := query
		own.After = at[p.index]
		return p.engine.Events(ctx, own)
	})
	if err != nil {
		return nil, err
	}
	var events []dibs.Event
	for len(events) < query.Limit {
		next := -1
		for i, page := range pages {
			if len(page) > 0 && (next < 0 || page[0].At < pages[next][0].At) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		event := pages[next][0]
		pages[next] = pages[next][1:]
		at[parts[next].index] = event.Cursor
		event.Cursor = t.encode(at)
		events = append(events, event)
	}
	return events, nil
}

// readEnd returns the end of the feed of some parts.
func readEnd(ctx context.Context, t *table, parts []*part) (dibs.Cursor, error) {
	ends, err := ofEach(ctx, parts, func(p *part) (dibs.Cursor, error) { return p.engine.Latest(ctx) })
	if err != nil {
		return "", err
	}
	at := make(positions, len(t.names))
	for i, p := range parts {
		at[p.index] = ends[i]
	}
	return t.encode(at), nil
}

// ofEach calls a function for all parts at once. It fails if one part fails.
func ofEach[T any](ctx context.Context, parts []*part, call func(p *part) (T, error)) ([]T, error) {
	answers, errs := make([]T, len(parts)), make([]error, len(parts))
	if len(parts) == 1 {
		answer, err := leased(ctx, parts[0], func() (T, error) { return call(parts[0]) })
		return []T{answer}, err
	}
	var calls sync.WaitGroup
	for i, p := range parts {
		calls.Go(func() { answers[i], errs[i] = leased(ctx, p, func() (T, error) { return call(p) }) })
	}
	calls.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("part %q: %w", parts[i].name(), err)
		}
	}
	return answers, nil
}
