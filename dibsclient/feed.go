package dibsclient

import (
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
// at its cursor.
func (c *client) awaitEvents(ctx context.Context, query dibs.FeedQuery) (dibs.EventPage, error) {
	if strings.ContainsFunc(string(query.After), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return dibs.EventPage{}, dibs.ErrBadCursor // not valid in a header, so not from a server
	}
	s := c.streams.take(query.Namespace, query.After)
	r := reconnect{lastOpen: time.Now()}
	for {
		if s == nil {
			var err error
			if s, err = c.reopen(ctx, query, &r); err != nil {
				return dibs.EventPage{}, err
			}
		}
		page, err := s.next(ctx, query.Limit)
		if len(page.Events) > 0 {
			c.streams.put(s)
			return page, nil
		}
		s.cancel()
		if ctx.Err() != nil {
			return page, ctx.Err()
		}
		if _, invalid := errors.AsType[*invalidStreamError](err); invalid {
			return dibs.EventPage{}, err
		}
		c.options.Logger.DebugContext(ctx, "dibs: reopening the feed", "error", err)
		query.After = s.cursor
		r.broke(s)
		s = nil
	}
}

// reconnect is the state of a watcher without a stream.
type reconnect struct {
	lastOpen   time.Time     // when a stream was last open
	failures   int           // since a stream last lasted
	retryAfter time.Duration // the least delay that the server asks for
}

// broke counts a stream that ended. A long one does not count as a failure: servers
// restart, and proxies limit how long a response lasts.
func (r *reconnect) broke(s *stream) {
	r.lastOpen = time.Now()
	r.failures++
	if time.Since(s.opened) > maxBackoff {
		r.failures = 0
	}
}

// reopen opens a stream. It retries until the reconnect timeout is over.
func (c *client) reopen(ctx context.Context, query dibs.FeedQuery, r *reconnect) (*stream, error) {
	do := get("watch", "/v1/events", params("namespace", query.Namespace, "after", string(query.After)))
	for {
		if r.failures > 0 && backoff.Sleep(ctx, retryDelay(r.failures, c.firstBackoff, r.retryAfter)) != nil {
			return nil, ctx.Err()
		}
		if c.closed.Err() != nil {
			return nil, dibs.Unavailable(dibs.ErrClosed)
		}
		s, f := c.open(ctx, do, query)
		if f == nil {
			r.retryAfter = 0
			return s, nil
		}
		if ctx.Err() != nil || !f.retryable || time.Since(r.lastOpen) > c.reconnectTimeout {
			return nil, do.finalError(ctx, f, false)
		}
		c.options.Logger.DebugContext(ctx, "dibs: cannot reach the feed", "error", f.err)
		r.failures++
		r.retryAfter = f.retryAfter
	}
}
