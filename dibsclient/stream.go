package dibsclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

const (
	// buffered is how many messages of a stream may wait for their watcher.
	buffered = 256
	// eventsPerPage is how many events a watcher is given at once, where it did not say.
	eventsPerPage = 100
	maxPerPage    = 1000
)

var errSilent = errors.New("the stream went silent")

// damagedError is a stream that cannot be understood: opening it again does not help.
type damagedError struct{ err error }

func (e *damagedError) Error() string {
	return fmt.Sprintf("dibs: the server's stream of events makes no sense: %v", e.err)
}

func (e *damagedError) Unwrap() error { return e.err }

// update is what one message of a stream says.
type update struct {
	event  *dibs.Event // nil where there is only a new place in the feed
	cursor dibs.Cursor
}

// stream is an open stream of events. One goroutine reads it; one watcher at a time has
// it.
type stream struct {
	namespace string
	cursor    dibs.Cursor // behind what was handed out
	opened    time.Time
	updates   chan update // closed when the stream is over
	err       error       // why it is over; to be looked at after updates was closed
	cancel    context.CancelFunc
	idle      *time.Timer // of the cache
}

// open opens a stream behind the query's cursor. It lives as long as the context does.
func (c *client) open(ctx context.Context, do call, query dibs.FeedQuery) (*stream, *failure) {
	ctx, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(c.closed, func() { cancel(dibs.ErrClosed) })
	end := func() {
		forget()
		cancel(nil)
	}
	tooSlow := time.AfterFunc(c.options.Timeout, func() { cancel(fmt.Errorf("no answer within %v", c.options.Timeout)) })
	response, err := c.sendWatch(ctx, do, query.After) //nolint:bodyclose // the stream closes it when it ends
	tooSlow.Stop()
	if err != nil {
		err = lost(ctx, do, err)
		end()
		return nil, &failure{err: err, again: true}
	}
	if f := c.notStream(response); f != nil {
		end()
		return nil, f
	}
	s := &stream{
		namespace: query.Namespace, cursor: query.After, opened: time.Now(),
		updates: make(chan update, buffered), cancel: end,
	}
	go func() {
		defer end()
		defer func() { _ = response.Body.Close() }()
		defer close(s.updates)
		s.err = s.readAll(ctx, response.Body, c.maxSilence, cancel)
		if ctx.Err() != nil {
			s.err = context.Cause(ctx)
		}
	}()
	return s, nil
}

// notStream says what an answer is that is no stream, and closes it.
func (c *client) notStream(response *http.Response) *failure {
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode == http.StatusOK && err == nil && media == "text/event-stream" {
		return nil
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(response.Body, c.maxAnswer))
	if err != nil {
		return &failure{err: err, again: true}
	}
	a := answer{response.StatusCode, response.Header, data}
	if a.status == http.StatusOK {
		return &failure{err: &StatusError{Status: a.status, Detail: fmt.Sprintf("with %q, not with a stream of events", media)}}
	}
	return a.failure()
}

// readAll reads updates until the stream is over, or silent for too long.
func (s *stream) readAll(ctx context.Context, body io.Reader, silence time.Duration, cancel context.CancelCauseFunc) error {
	silent := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer silent.Stop()
	messages := newMessages(body, func() { silent.Reset(silence) })
	for {
		m, err := messages.next()
		if err != nil {
			return err
		}
		u, err := m.update()
		if err != nil {
			return err
		}
		silent.Stop() // a watcher that is slow is no sign of a silent server
		select {
		case s.updates <- u:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// update reads what a message says.
func (m message) update() (update, error) {
	if m.data == "" {
		return update{cursor: dibs.Cursor(m.id)}, nil
	}
	var w wire.Event
	if err := json.Unmarshal([]byte(m.data), &w); err != nil {
		return update{}, &damagedError{err}
	}
	event, err := w.Event()
	if err != nil {
		return update{}, &damagedError{err}
	}
	if event.Cursor == "" {
		return update{}, &damagedError{errors.New("an event has no cursor")}
	}
	return update{event: &event, cursor: event.Cursor}, nil
}

// next waits for events and returns all that are there.
func (s *stream) next(ctx context.Context, limit int) (dibs.EventPage, error) {
	limit = perPage(limit)
	page := dibs.EventPage{Next: s.cursor}
	for len(page.Events) == 0 {
		select {
		case u, open := <-s.updates:
			if !open {
				return page, s.err
			}
			s.add(&page, u)
		case <-ctx.Done():
			return page, ctx.Err()
		}
	}
	for len(page.Events) < limit {
		select {
		case u, open := <-s.updates:
			if !open {
				return page, nil
			}
			s.add(&page, u)
		default:
			return page, nil
		}
	}
	return page, nil
}

// perPage returns how many events are given out at once.
func perPage(limit int) int {
	if limit <= 0 {
		limit = eventsPerPage
	}
	return min(limit, maxPerPage)
}

func (s *stream) add(page *dibs.EventPage, u update) {
	if u.event != nil {
		page.Events = append(page.Events, *u.event)
	}
	s.cursor, page.Next = u.cursor, u.cursor
}
