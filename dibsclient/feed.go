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

// Events returns a page of the feed; with wait it blocks until there is one.
func (c *client) Events(ctx context.Context, query dibs.FeedQuery, wait bool) (dibs.EventPage, error) {
	if wait && query.After == dibs.Latest {
		// A stream that breaks before its first event must not begin at a later end.
		now, err := c.Events(ctx, query, false)
		if err != nil {
			return now, err
		}
		query.After = now.Next
	}
	if wait {
		return c.awaitEvents(ctx, query)
	}
	var page dibs.EventPage
	q := params("namespace", query.Namespace, "after", string(query.After), "limit", pageSize(query.Limit))
	err := c.do(ctx, get("events", "/v1/events", q, into(func(a wire.EventsPage) (err error) {
		page, err = a.EventPage()
		if page.Next == "" && query.After != dibs.Latest {
			page.Next = query.After
		}
		// Servers that do not tell look for events until a page is full.
		page.More = page.More || len(page.Events) >= perPage(query.Limit)
		return err
	})))
	return page, err
}

// awaitEvents reads from a stream. It stays open between two calls of a watcher, who
// comes back with the cursor that it was given. When a stream breaks, another one goes
// on where it ended.
func (c *client) awaitEvents(ctx context.Context, query dibs.FeedQuery) (dibs.EventPage, error) {
	if strings.ContainsFunc(string(query.After), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return dibs.EventPage{}, dibs.ErrBadCursor // no header can have it, and no server gave it out
	}
	s := c.streams.take(query.Namespace, query.After)
	reconnecting := reconnecting{lastOpen: time.Now()}
	for {
		if s == nil {
			var err error
			if s, err = c.reopen(ctx, query, &reconnecting); err != nil {
				return dibs.EventPage{}, err
			}
		}
		page, err := s.next(ctx, query.Limit)
		if len(page.Events) > 0 {
			c.streams.put(s)
			return page, nil
		}
		s.cancel()
		var damaged *damagedError
		switch {
		case ctx.Err() != nil:
			return page, ctx.Err()
		case errors.As(err, &damaged):
			return dibs.EventPage{}, err
		}
		c.options.Logger.DebugContext(ctx, "dibs: the feed is opened again", "error", err)
		query.After = s.cursor
		reconnecting.broke(s)
		s = nil
	}
}

// reconnecting is what a watcher remembers while it has no stream.
type reconnecting struct {
	lastOpen time.Time     // when the server was last seen
	failures int           // since a stream last lived
	after    time.Duration // how long the server wants to be left alone
}

// broke counts a stream that is gone. One that lived for a while is no failure: servers
// restart, and proxies end what lasts.
func (r *reconnecting) broke(s *stream) {
	r.lastOpen = time.Now()
	r.failures++
	if time.Since(s.opened) > maxPause {
		r.failures = 0
	}
}

// reopen opens a stream, and tries again for a while when it cannot.
func (c *client) reopen(ctx context.Context, query dibs.FeedQuery, r *reconnecting) (*stream, error) {
	do := get("watch", "/v1/events", params("namespace", query.Namespace, "after", string(query.After)), nil)
	for {
		if r.failures > 0 && backoff.Sleep(ctx, pauseBefore(r.failures, c.firstPause, r.after)) != nil {
			return nil, ctx.Err()
		}
		if c.closed.Err() != nil {
			return nil, dibs.Unavailable(dibs.ErrClosed)
		}
		s, f := c.open(ctx, do, query)
		if f == nil {
			r.after = 0
			return s, nil
		}
		if ctx.Err() != nil || !f.again || time.Since(r.lastOpen) > c.patience {
			return nil, do.settle(ctx, f, false)
		}
		c.options.Logger.DebugContext(ctx, "dibs: the feed cannot be reached", "error", f.err)
		r.failures++
		r.after = f.after
	}
}
