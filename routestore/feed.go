package routestore

import (
	"context"
	"fmt"
	"sync"

	"github.com/calldibs/dibs"
)

// readFeed returns the events of some parts, merged: of those that come next in each part
// the one with the earliest date goes first. So the order follows from the cursor alone,
// no part keeps the others waiting, and each part's own order stays. One that cannot be
// read fails the whole, since nothing may be left out. The history of a name is in one part,
// and so there is nothing to merge.
func readFeed(ctx context.Context, t *table, parts []*part, query dibs.EventQuery) ([]dibs.Event, error) {
	at, err := t.decode(query.After)
	if err != nil {
		return nil, err
	}
	pages, err := readPages(ctx, parts, at, query)
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

// readPages reads a page of each part, at once.
func readPages(ctx context.Context, parts []*part, at positions, query dibs.EventQuery) ([][]dibs.Event, error) {
	return ofEach(ctx, parts, func(p *part) ([]dibs.Event, error) {
		own := query
		own.After = at[p.index]
		return p.engine.Events(ctx, own)
	})
}

// readEnd returns where the feed of some parts ends.
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

// ofEach asks parts at once. One that cannot be used fails the whole.
func ofEach[T any](ctx context.Context, parts []*part, question func(p *part) (T, error)) ([]T, error) {
	answers, errs := make([]T, len(parts)), make([]error, len(parts))
	ask := func(i int) {
		if errs[i] = parts[i].mayUse(ctx); errs[i] == nil {
			answers[i], errs[i] = question(parts[i])
		}
	}
	if len(parts) == 1 {
		ask(0)
		return answers, errs[0]
	}
	var asking sync.WaitGroup
	for i := range parts {
		asking.Go(func() { ask(i) })
	}
	asking.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("part %q: %w", parts[i].name(), err)
		}
	}
	return answers, nil
}
