package dibsclient

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
	"github.com/calldibs/dibs/internal/wire"
)

// Events returns a page of the feed; with wait it blocks until there is an event.
func (c *client) Events(ctx context.Context, query dibs.FeedQuery, wait bool) (dibs.EventPage, error) {
	if wait && query.After == dibs.Latest {
		// A stream that breaks before its first event must not continue at a later end.
		now, err := c.Events(ctx, query, false)
		if err != nil {
			return now, err
		}
		query.After = now.Next
	}
	if wait {
		return c.awaitEvents(ctx, query)
	}
	q := params("namespace", query.Namespace, "after", string(query.After), "limit", pageSize(query.Limit))
	return fetch(ctx, c, get("events", "/v1/events", q), func(w wire.EventsPage) (dibs.EventPage, error) {
		page, err := w.EventPage()
		if page.Next == "" && query.After != dibs.Latest {
			page.Next = query.After
		}
		// Older servers do not send more: their pages are full unless the feed ends.
		page.More = page.More || len(page.Events) >= perPage(query.Limit)
		return page, err
	})
}

// awaitEvents reads from a stream. The stream stays open between two calls of a watcher,
// which continues with the cursor that it got. When a stream breaks, another one continues
// at its cursor. It tries to open one until the reconnect timeout is over.
func (c *client) awaitEvents(ctx context.Context, query dibs.FeedQuery) (dibs.EventPage, error) {
	if strings.ContainsFunc(string(query.After), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return dibs.EventPage{}, dibs.ErrBadCursor // not valid in a header, so not from a server
	}
	lastOpen, failures := time.Now(), 0 // the failures since a stream last lasted
	for c.closed.Err() == nil {
		do := get("watch", "/v1/events", params("namespace", query.Namespace, "after", string(query.After)))
		s, f := c.open(ctx, do, query)
		var retryAfter time.Duration
		if f == nil {
			page, err := s.next(ctx, query.Limit)
			if len(page.Events) > 0 {
				c.streams.put(s)
				return page, nil
			}
			s.cancel()
			if _, invalid := errors.AsType[*invalidStreamError](err); invalid || ctx.Err() != nil {
				return dibs.EventPage{}, cmp.Or(ctx.Err(), err)
			}
			c.options.Logger.DebugContext(ctx, "dibs: reopening the feed", "error", err)
			query.After, lastOpen = s.cursor, time.Now()
			if time.Since(s.opened) > maxBackoff { // servers restart, and proxies limit how long a response lasts
				failures = 0
				continue
			}
		} else {
			if ctx.Err() != nil || !f.retryable || time.Since(lastOpen) > c.reconnectTimeout {
				return dibs.EventPage{}, do.finalError(ctx, f, false)
			}
			c.options.Logger.DebugContext(ctx, "dibs: cannot reach the feed", "error", f.err)
			retryAfter = f.retryAfter
		}
		failures++
		if backoff.Sleep(ctx, retryDelay(failures, c.firstBackoff, retryAfter)) != nil {
			return dibs.EventPage{}, ctx.Err()
		}
	}
	return dibs.EventPage{}, dibs.Unavailable(dibs.ErrClosed)
}
