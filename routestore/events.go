package routestore

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/bisect"
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
	pages, err := ofEach(parts, func(p *part) ([]dibs.Event, error) {
		own := query
		own.After = at[p.index]
		return leased(ctx, p, func() ([]dibs.Event, error) { return p.engine.Events(ctx, own) })
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
	ends, err := ofEach(parts, func(p *part) (dibs.Cursor, error) {
		return leased(ctx, p, func() (dibs.Cursor, error) { return p.engine.Latest(ctx) })
	})
	if err != nil {
		return "", err
	}
	return t.join(parts, ends), nil
}

// join returns the cursor of the whole feed with the cursors of some parts. The others are at their
// beginning.
func (t *table) join(parts []*part, cursors []dibs.Cursor) dibs.Cursor {
	at := make([]dibs.Cursor, len(t.names))
	for i, p := range parts {
		at[p.index] = cursors[i]
	}
	return t.encode(at)
}

// seek finds a date in the feeds of some parts.
func seek(ctx context.Context, t *table, parts []*part, at dibs.Instant) (dibs.Cursor, error) {
	found, err := ofEach(parts, func(p *part) (dibs.Cursor, error) {
		return leased(ctx, p, func() (dibs.Cursor, error) { return bisect.Seek(ctx, p.engine, at) })
	})
	if err != nil {
		return "", err
	}
	return t.join(parts, found), nil
}

// A cursor of the whole feed has the cursors of its parts by name: "~default.1204~eu.17". It
// stays valid when parts are added: a part that is not in it is read from its beginning. It
// needs no escaping in a URL.
const separator = "~"

// encode returns the cursor of the whole feed from the cursors of all parts; empty means the
// beginning.
func (t *table) encode(at []dibs.Cursor) dibs.Cursor {
	if len(t.names) == 1 {
		return at[0]
	}
	var b strings.Builder
	for _, name := range slices.Sorted(slices.Values(t.names)) {
		if own := at[slices.Index(t.names, name)]; own != "" {
			b.WriteString(separator + name + "." + strings.ReplaceAll(url.QueryEscape(string(own)), separator, "%7E"))
		}
	}
	return dibs.Cursor(b.String())
}

// decode is the inverse of encode, and accepts no other spelling. A cursor from a store without
// routes is one of the default part, which had all scopes.
func (t *table) decode(cursor dibs.Cursor) ([]dibs.Cursor, error) {
	at := make([]dibs.Cursor, len(t.names))
	if !strings.HasPrefix(string(cursor), separator) {
		at[t.defaultPart] = cursor
		return at, nil
	}
	for entry := range strings.SplitSeq(string(cursor[len(separator):]), separator) {
		name, escaped, _ := strings.Cut(entry, ".")
		i := slices.Index(t.names, name)
		position, err := url.QueryUnescape(escaped)
		if i < 0 || err != nil {
			return nil, dibs.ErrBadCursor
		}
		at[i] = dibs.Cursor(position)
	}
	if t.encode(at) != cursor {
		return nil, dibs.ErrBadCursor
	}
	return at, nil
}
