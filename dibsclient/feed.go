package dibsclient

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
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
			if ctx.Err() != nil {
				return page, ctx.Err() // with the cursor that the stream has reached
			}
			if errors.Is(err, errInvalidStream) {
				return dibs.EventPage{}, err
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

const (
	streamBuffer  = 256  // messages of a stream that its watcher has not read yet
	eventsPerPage = 100  // for a query without a limit
	maxPerPage    = 1000 // for any query
)

var (
	errIdle = errors.New("the server sent nothing for too long")
	// errInvalidStream means that a stream has invalid content: opening it again does not help.
	errInvalidStream = errors.New("dibs: invalid stream of events")
)

// stream is an open stream of events. One goroutine reads it, and one watcher at a time
// uses it.
type stream struct {
	namespace string
	cursor    dibs.Cursor // of the last event that the watcher got
	opened    time.Time
	events    chan dibs.Event // closed when the stream ends; one without a kind only advances the cursor
	err       error           // why it ended; valid once events is closed
	cancel    context.CancelFunc
	idle      *time.Timer // of the pool
}

// open returns a stream after the query's cursor: an idle one, or a new one that ends with the
// context and with the client.
func (c *client) open(ctx context.Context, do call, query dibs.FeedQuery) (*stream, *failure) {
	if s := c.streams.take(query.Namespace, query.After); s != nil {
		return s, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	detach := context.AfterFunc(c.closed, func() { cancel(dibs.ErrClosed) })
	end := func() {
		detach()
		cancel(nil)
	}
	timeout := time.AfterFunc(c.options.Timeout, func() { cancel(c.timeoutError()) })
	response, f := c.connect(ctx, do, query.After) //nolint:bodyclose // the stream closes it when it ends
	timeout.Stop()
	if f != nil {
		end()
		return nil, f
	}
	s := &stream{
		namespace: query.Namespace, cursor: query.After, opened: time.Now(),
		events: make(chan dibs.Event, streamBuffer), cancel: end,
	}
	go func() {
		defer end()
		defer func() { _ = response.Body.Close() }()
		defer close(s.events)
		s.err = s.readAll(ctx, response.Body, c.idleTimeout, cancel)
		if ctx.Err() != nil {
			s.err = context.Cause(ctx)
		}
	}()
	return s, nil
}

// connect requests a stream after a cursor.
func (c *client) connect(ctx context.Context, do call, after dibs.Cursor) (*http.Response, *failure) {
	request, err := c.newRequest(ctx, do, nil)
	if err != nil {
		return nil, &failure{err: noResponse(ctx, do, err), retryable: true}
	}
	request.Header.Set("Accept", "text/event-stream")
	if after != "" {
		request.Header.Set("Last-Event-ID", string(after))
	}
	got, err := c.http.Do(request)
	if err != nil {
		return nil, &failure{err: noResponse(ctx, do, err), retryable: true}
	}
	r := response{status: got.StatusCode, header: got.Header}
	if r.status == http.StatusOK && r.mediaType() == "text/event-stream" {
		return got, nil
	}
	defer func() { _ = got.Body.Close() }()
	if r.status == http.StatusOK {
		return nil, &failure{err: &StatusError{Status: r.status, Detail: fmt.Sprintf("the response is %s, not a stream of events", r.mediaType())}}
	}
	if r.data, err = io.ReadAll(io.LimitReader(got.Body, c.maxResponse)); err != nil {
		return nil, &failure{err: err, retryable: true}
	}
	return nil, r.failure()
}

// readAll reads events until the stream ends, or the server sends nothing for too long.
func (s *stream) readAll(ctx context.Context, body io.Reader, idleTimeout time.Duration, cancel context.CancelCauseFunc) error {
	idle := time.AfterFunc(idleTimeout, func() { cancel(errIdle) })
	defer idle.Stop()
	messages := newMessageReader(body, func() { idle.Reset(idleTimeout) })
	for {
		m, err := messages.next()
		if err != nil {
			return err
		}
		event, err := m.event()
		if err != nil {
			return fmt.Errorf("%w: %w", errInvalidStream, err)
		}
		idle.Stop() // the time until a slow watcher reads does not count
		select {
		case s.events <- event:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// event decodes a message. One without data only advances the cursor.
func (m message) event() (dibs.Event, error) {
	if m.data == "" {
		return dibs.Event{Cursor: dibs.Cursor(m.id)}, nil
	}
	var w wire.Event
	if err := json.Unmarshal([]byte(m.data), &w); err != nil {
		return dibs.Event{}, err
	}
	event, err := w.Event()
	if err == nil && (event.Cursor == "" || event.Kind == "") {
		err = errors.New("an event has no cursor or no kind")
	}
	return event, err
}

// next waits for an event, and returns it with all further ones that are buffered. With an error
// it may also return events.
func (s *stream) next(ctx context.Context, limit int) (dibs.EventPage, error) {
	limit = perPage(limit)
	page := dibs.EventPage{Next: s.cursor}
	for len(page.Events) == 0 || len(page.Events) < limit && len(s.events) > 0 {
		select {
		case event, open := <-s.events:
			if !open {
				return page, s.err
			}
			if event.Kind != "" {
				page.Events = append(page.Events, event)
			}
			s.cursor, page.Next = event.Cursor, event.Cursor
		case <-ctx.Done():
			return page, ctx.Err()
		}
	}
	return page, nil
}

func perPage(limit int) int { return cmp.Or(min(max(limit, 0), maxPerPage), eventsPerPage) }

// maxMessage is the maximum size of a message of a stream, in bytes.
const maxMessage = 1 << 20

// message is a message of a stream of server-sent events.
type message struct{ id, data string }

// messageReader reads server-sent events.
type messageReader struct {
	lines *bufio.Scanner
	alive func() // called when the server has sent a line
}

func newMessageReader(r io.Reader, alive func()) *messageReader {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxMessage)
	return &messageReader{lines, alive}
}

// next returns the next message with an id or data. It skips comments, which are
// heartbeats, and fields that have no meaning here.
func (m *messageReader) next() (message, error) {
	var (
		msg  message
		data []string
		size int
	)
	for m.alive(); m.lines.Scan(); m.alive() {
		line := m.lines.Text()
		if line == "" {
			msg.data = strings.Join(data, "\n")
			if msg.id != "" || msg.data != "" {
				return msg, nil
			}
			size = 0
			continue
		}
		if size += len(line); size > maxMessage {
			return msg, tooLong()
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			msg.id = value
		case "data":
			data = append(data, value)
		}
	}
	switch err := m.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return msg, tooLong()
	case err != nil:
		return msg, err
	default:
		return msg, io.EOF // an incomplete message does not count
	}
}

func tooLong() error {
	return fmt.Errorf("%w: a message has more than %d bytes", errInvalidStream, maxMessage)
}

const (
	// maxIdleStreams is how many streams stay open for watchers that may return.
	maxIdleStreams = 64
	// maxIdleTime is how long each of them stays open. A watcher that takes longer for an
	// event opens another one.
	maxIdleTime = 30 * time.Second
)

// streamPool keeps streams open between two calls of their watchers. The zero streamPool
// is empty.
type streamPool struct {
	mu   sync.Mutex
	idle []*stream // the longest idle first
}

// take removes and returns the stream at a cursor, or returns nil.
func (p *streamPool) take(namespace string, cursor dibs.Cursor) *stream {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.idle, func(s *stream) bool { return s.namespace == namespace && s.cursor == cursor })
	if i < 0 {
		return nil
	}
	s := p.idle[i]
	s.idle.Stop()
	p.idle = slices.Delete(p.idle, i, i+1)
	return s
}

// put adds a stream for a while.
func (p *streamPool) put(s *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == maxIdleStreams {
		p.idle[0].idle.Stop()
		p.idle[0].cancel()
		p.idle = slices.Delete(p.idle, 0, 1)
	}
	s.idle = time.AfterFunc(maxIdleTime, func() { p.expire(s) })
	p.idle = append(p.idle, s)
}

// expire ends a stream whose watcher did not return.
func (p *streamPool) expire(s *stream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.idle, s); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
		s.cancel()
	}
}
