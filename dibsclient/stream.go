package dibsclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

const (
	streamBuffer  = 256  // messages of a stream that its watcher has not read yet
	eventsPerPage = 100  // for a query without a limit
	maxPerPage    = 1000 // for any query
)

var errIdle = errors.New("the server sent nothing for too long")

// invalidStreamError is a stream with invalid content: opening it again does not help.
type invalidStreamError struct{ err error }

func (e *invalidStreamError) Error() string {
	return fmt.Sprintf("dibs: invalid stream of events: %v", e.err)
}

func (e *invalidStreamError) Unwrap() error { return e.err }

// update is the content of one message of a stream.
type update struct {
	event  *dibs.Event // nil if the message only advances the cursor
	cursor dibs.Cursor
}

// stream is an open stream of events. One goroutine reads it, and one watcher at a time
// uses it.
type stream struct {
	namespace string
	cursor    dibs.Cursor // of the last event that the watcher got
	opened    time.Time
	updates   chan update // closed when the stream ends
	err       error       // why it ended; valid once updates is closed
	cancel    context.CancelFunc
	idle      *time.Timer // of the pool
}

// open opens a stream after the query's cursor. The stream ends with the context.
func (c *client) open(ctx context.Context, do call, query dibs.FeedQuery) (*stream, *failure) {
	ctx, cancel := context.WithCancelCause(ctx)
	detach := context.AfterFunc(c.closed, func() { cancel(dibs.ErrClosed) })
	end := func() {
		detach()
		cancel(nil)
	}
	timeout := time.AfterFunc(c.options.Timeout, func() { cancel(c.timeoutError()) })
	response, err := c.sendWatch(ctx, do, query.After) //nolint:bodyclose // the stream closes it when it ends
	timeout.Stop()
	if err != nil {
		err = noResponse(ctx, do, err)
		end()
		return nil, &failure{err: err, retryable: true}
	}
	if f := c.notStream(response); f != nil {
		end()
		return nil, f
	}
	s := &stream{
		namespace: query.Namespace, cursor: query.After, opened: time.Now(),
		updates: make(chan update, streamBuffer), cancel: end,
	}
	go func() {
		defer end()
		defer func() { _ = response.Body.Close() }()
		defer close(s.updates)
		s.err = s.readAll(ctx, response.Body, c.idleTimeout, cancel)
		if ctx.Err() != nil {
			s.err = context.Cause(ctx)
		}
	}()
	return s, nil
}

// sendWatch requests a stream after a cursor.
func (c *client) sendWatch(ctx context.Context, do call, after dibs.Cursor) (*http.Response, error) {
	request, err := c.newRequest(ctx, do, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/event-stream")
	if after != "" {
		request.Header.Set("Last-Event-ID", string(after))
	}
	return c.http.Do(request)
}

// notStream returns nil for a response that is a stream. It closes any other.
func (c *client) notStream(got *http.Response) *failure {
	r := response{status: got.StatusCode, header: got.Header}
	if r.status == http.StatusOK && r.mediaType() == "text/event-stream" {
		return nil
	}
	defer func() { _ = got.Body.Close() }()
	if r.status == http.StatusOK {
		return &failure{err: &StatusError{Status: r.status, Detail: fmt.Sprintf("the response is %s, not a stream of events", r.mediaType())}}
	}
	var err error
	if r.data, err = io.ReadAll(io.LimitReader(got.Body, c.maxResponse)); err != nil {
		return &failure{err: err, retryable: true}
	}
	return r.failure()
}

// readAll reads updates until the stream ends, or the server sends nothing for too long.
func (s *stream) readAll(ctx context.Context, body io.Reader, idleTimeout time.Duration, cancel context.CancelCauseFunc) error {
	idle := time.AfterFunc(idleTimeout, func() { cancel(errIdle) })
	defer idle.Stop()
	messages := newMessageReader(body, func() { idle.Reset(idleTimeout) })
	for {
		m, err := messages.next()
		if err != nil {
			return err
		}
		u, err := m.update()
		if err != nil {
			return err
		}
		idle.Stop() // the time until a slow watcher reads does not count
		select {
		case s.updates <- u:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// update decodes a message.
func (m message) update() (update, error) {
	if m.data == "" {
		return update{cursor: dibs.Cursor(m.id)}, nil
	}
	var w wire.Event
	if err := json.Unmarshal([]byte(m.data), &w); err != nil {
		return update{}, &invalidStreamError{err}
	}
	event, err := w.Event()
	if err != nil {
		return update{}, &invalidStreamError{err}
	}
	if event.Cursor == "" {
		return update{}, &invalidStreamError{errors.New("an event has no cursor")}
	}
	return update{event: &event, cursor: event.Cursor}, nil
}

// next waits for an event, and returns it with all further ones that are buffered. With an error
// it may also return events.
func (s *stream) next(ctx context.Context, limit int) (dibs.EventPage, error) {
	limit = perPage(limit)
	page := dibs.EventPage{Next: s.cursor}
	for len(page.Events) == 0 || len(page.Events) < limit && len(s.updates) > 0 {
		select {
		case u, open := <-s.updates:
			if !open {
				return page, s.err
			}
			if u.event != nil {
				page.Events = append(page.Events, *u.event)
			}
			s.cursor, page.Next = u.cursor, u.cursor
		case <-ctx.Done():
			return page, ctx.Err()
		}
	}
	return page, nil
}

// perPage returns the maximum number of events of a page.
func perPage(limit int) int {
	if limit <= 0 {
		limit = eventsPerPage
	}
	return min(limit, maxPerPage)
}
