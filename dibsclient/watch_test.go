package dibsclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
)

// claimMany claims the names with the numbers from from up to to.
func claimMany(t *testing.T, reg *dibs.Registry, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		claim := dibs.Claim{Namespace: "slug", Value: fmt.Sprint("name-", i), Entity: dibs.Entity{Type: "user", ID: fmt.Sprint(i)}}
		if _, err := reg.Claim(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWatchReadsEveryEventOnceFromOneStream(t *testing.T) {
	t.Parallel()
	r := newFixture(t, dibsclient.Options{})
	const events = 500
	claimMany(t, r.server, 0, events/2)
	r.faults.add()
	seen := 0
	for e, err := range r.Watch(t.Context(), dibs.FeedQuery{Namespace: "slug"}) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint("name-", seen); e.Value != want || e.Kind != dibs.EventClaimed {
			t.Fatalf("event %d is %s of %s", seen, e.Kind, e.Value)
		}
		if seen++; seen == events {
			break
		}
		if seen >= events/2 {
			claimMany(t, r.server, seen, seen+1)
		}
	}
	if n := r.faults.requests(); n != 1 {
		t.Errorf("%d requests, want one", n)
	}
	want, err := r.server.Events(t.Context(), dibs.FeedQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	want.Generation = 0 // local to the server's process
	got, err := r.Events(t.Context(), dibs.FeedQuery{Limit: 1000})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the pages differ: %v", err)
	}
}

// breakStream breaks a stream after some bytes, perhaps in the middle of a message.
func breakStream(bytes int64) fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer func() { _ = recover() }()
		next.ServeHTTP(&limitedWriter{ResponseWriter: w, left: bytes, cancel: cancel}, r.WithContext(ctx))
		panic(http.ErrAbortHandler)
	}
}

type limitedWriter struct {
	http.ResponseWriter
	left   int64
	cancel func()
}

func (w *limitedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *limitedWriter) Write(b []byte) (int, error) {
	if w.left <= 0 {
		return len(b), nil
	}
	if n := int64(len(b)); n > w.left {
		b = b[:w.left]
		defer w.cancel()
	}
	w.left -= int64(len(b))
	return w.ResponseWriter.Write(b)
}

func TestWatchContinuesAfterBrokenStream(t *testing.T) {
	t.Parallel()
	r := newFixture(t, dibsclient.Options{})
	const events = 200
	claimMany(t, r.server, 0, events)
	r.faults.add(breakStream(5000), dropRequest, unavailable, breakStream(20_000), respond(502, html, ""))
	seen := 0
	for e, err := range r.Watch(t.Context(), dibs.FeedQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint("name-", seen); e.Value != want {
			t.Fatalf("event %d is of %s", seen, e.Value)
		}
		if seen++; seen == events {
			break
		}
	}
	if n := r.faults.requests(); n != 6 {
		t.Errorf("%d requests, want 6", n)
	}
}

func TestWatchEnds(t *testing.T) {
	t.Parallel()
	watch := func(ctx context.Context, reg *dibs.Registry, query dibs.FeedQuery) error {
		for _, err := range reg.Watch(ctx, query) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	r := newFixture(t, dibsclient.Options{})
	claimMany(t, r.server, 0, 1)

	t.Run("with its context", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		if err := watch(ctx, r.Registry, dibs.FeedQuery{}); !isPlain(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("with Close", func(t *testing.T) {
		reg := dial(t, r.url, dibsclient.Options{})
		go func() {
			for range reg.Watch(context.WithoutCancel(t.Context()), dibs.FeedQuery{}) {
				_ = reg.Close() // the first event is there
			}
		}()
		if err := watch(t.Context(), reg, dibs.FeedQuery{}); !errors.Is(err, dibs.ErrUnavailable) || !errors.Is(err, dibs.ErrClosed) {
			t.Errorf("got %v", err)
		}
		if _, err := reg.Resolve(t.Context(), "slug", "a"); !errors.Is(err, dibs.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
	t.Run("with an invalid query", func(t *testing.T) {
		if err := watch(t.Context(), r.Registry, dibs.FeedQuery{Namespace: "!"}); !errors.Is(err, dibs.ErrInvalidNamespace) {
			t.Errorf("a namespace: %v", err)
		}
		for _, cursor := range []dibs.Cursor{"nowhere", "a\nb"} {
			if err := watch(t.Context(), r.Registry, dibs.FeedQuery{After: cursor}); !errors.Is(err, dibs.ErrBadCursor) {
				t.Errorf("the cursor %q: %v", cursor, err)
			}
		}
	})
	t.Run("with an invalid stream", func(t *testing.T) {
		stream := contentType("text/event-stream")
		for _, text := range []string{"id: 1\ndata: {\n\n", "id: 1\ndata: {\"cursor\":\"\"}\n\n", "data: {\"cursor\":\"1\",\"reservationId\":\"x\"}\n\n"} {
			r.faults.add(respond(200, stream, text))
			if err := watch(t.Context(), r.Registry, dibs.FeedQuery{After: "1"}); err == nil || r.faults.requests() != 1 {
				t.Errorf("%q: %v after %d requests", text, err, r.faults.requests())
			}
		}
		r.faults.add(respond(200, html, "<p>"))
		var status *dibsclient.StatusError
		if err := watch(t.Context(), r.Registry, dibs.FeedQuery{}); !errors.As(err, &status) {
			t.Errorf("HTML: %v", err)
		}
	})
	t.Run("without a server", func(t *testing.T) {
		reg := dialWithLimits(t, "http://127.0.0.1:1", dibsclient.Options{}, dibsclient.Limits{ReconnectTimeout: 100 * time.Millisecond})
		if err := watch(t.Context(), reg, dibs.FeedQuery{}); !errors.Is(err, dibs.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	})
}

// streams is a server of event streams without a network, for tests with fake time: serve writes the stream of a request until
// the client closes it.
func streams(serve func(r *http.Request, send func(text string))) *http.Client {
	return &http.Client{Transport: roundTripper(func(r *http.Request) *http.Response {
		body, out := io.Pipe()
		go func() {
			serve(r, func(text string) { _, _ = io.WriteString(out, text) })
			<-r.Context().Done()
			_ = out.Close()
		}()
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, Request: r}
	})}
}

// A watcher replaces the stream of a server that hangs, and keeps one with heartbeats.
func TestWatchNoticesIdleStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan string, 10)
		opened := 0
		client := streams(func(r *http.Request, send func(text string)) {
			asked <- r.Header.Get("Last-Event-ID")
			if opened++; opened > 1 {
				send("id: 8\r\ndata: {\"cursor\":\"8\",\r\ndata: \"kind\":\"archived\"}\r\n\r\n")
				return
			}
			send("id: 7\n\n") // no event, only a new cursor
			for range 5 {
				time.Sleep(40 * time.Millisecond)
				send(": alive\r\n\r\n")
			}
		})
		reg := dialWithLimits(t, "http://localhost", dibsclient.Options{HTTPClient: client}, dibsclient.Limits{IdleTimeout: 150 * time.Millisecond})
		start := time.Now()
		for e, err := range reg.Watch(t.Context(), dibs.FeedQuery{After: "3"}) {
			if err != nil || e.Kind != dibs.EventArchived || e.Cursor != "8" {
				t.Fatalf("got %+v, %v", e, err)
			}
			break
		}
		if first, second := <-asked, <-asked; first != "3" || second != "7" || time.Since(start) < 350*time.Millisecond {
			t.Errorf("the streams began after the cursors %q and %q, in %v", first, second, time.Since(start))
		}
		_ = reg.Close()
	})
}

// A caller that gives up gets the cursor that the stream has reached: other namespaces are not read
// again, and "latest" stays where it was.
func TestAwaitEventsReturnsItsCursor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := streams(func(_ *http.Request, send func(text string)) { send("id: 7\n\n") })
		reg := dial(t, "http://localhost", dibsclient.Options{HTTPClient: client})
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		page, err := reg.AwaitEvents(ctx, dibs.FeedQuery{Namespace: "slug", After: "3"})
		if !isPlain(err, context.DeadlineExceeded) || page.Next != "7" {
			t.Errorf("got %+v, %v", page, err)
		}
		_ = reg.Close()
	})
}

// Close also ends a stream that no watcher uses.
func TestCloseEndsIdleStreams(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "id: 8\ndata: {\"cursor\":\"8\",\"kind\":\"archived\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(ended)
	}))
	defer web.Close()
	reg := dial(t, web.URL, dibsclient.Options{})
	if page, err := reg.AwaitEvents(t.Context(), dibs.FeedQuery{After: "3"}); err != nil || len(page.Events) != 1 {
		t.Fatalf("got %+v, %v", page, err)
	}
	if err := reg.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the stream is still open")
	}
}
