package dibsclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
)

// claimMany claims names with these numbers on the server.
func claimMany(t *testing.T, reg *dibs.Registry, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		claim := dibs.Claim{Namespace: "slug", Value: fmt.Sprint("name-", i), Entity: dibs.Entity{Type: "user", ID: fmt.Sprint(i)}}
		if _, err := reg.Claim(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWatchSeesEveryEventOnceOnOneStream(t *testing.T) {
	t.Parallel()
	r := newRig(t, dibsclient.Options{})
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
		t.Errorf("it took %d requests, want one stream", n)
	}
	want, err := r.server.Events(t.Context(), dibs.FeedQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	want.Generation = 0 // of the server's process
	got, err := r.Events(t.Context(), dibs.FeedQuery{Limit: 1000})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the pages differ: %v", err)
	}
}

// cutStream lets a stream begin, and cuts it after some messages, perhaps in the middle
// of one.
func cutStream(bytes int64) fault {
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

func TestWatchGoesOnAfterItsStreamBroke(t *testing.T) {
	t.Parallel()
	r := newRig(t, dibsclient.Options{})
	const events = 200
	claimMany(t, r.server, 0, events)
	r.faults.add(cutStream(5000), cutBefore, unavailable, cutStream(20_000), say(502, html, ""))
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
		t.Errorf("it took %d requests, want 6", n)
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
	r := newRig(t, dibsclient.Options{})
	claimMany(t, r.server, 0, 1)

	t.Run("with its context", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		if err := watch(ctx, r.Registry, dibs.FeedQuery{}); !isJust(err, context.DeadlineExceeded) {
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
	t.Run("at what is wrong", func(t *testing.T) {
		if err := watch(t.Context(), r.Registry, dibs.FeedQuery{Namespace: "!"}); !errors.Is(err, dibs.ErrInvalidNamespace) {
			t.Errorf("a namespace: %v", err)
		}
		for _, cursor := range []dibs.Cursor{"nowhere", "a\nb"} {
			if err := watch(t.Context(), r.Registry, dibs.FeedQuery{After: cursor}); !errors.Is(err, dibs.ErrBadCursor) {
				t.Errorf("the cursor %q: %v", cursor, err)
			}
		}
	})
	t.Run("at nonsense", func(t *testing.T) {
		stream := http.Header{"Content-Type": {"text/event-stream"}}
		for _, text := range []string{"id: 1\ndata: {\n\n", "id: 1\ndata: {\"cursor\":\"\"}\n\n", "data: {\"cursor\":\"1\",\"reservationId\":\"x\"}\n\n"} {
			r.faults.add(say(200, stream, text))
			if err := watch(t.Context(), r.Registry, dibs.FeedQuery{After: "1"}); err == nil || r.faults.requests() != 1 {
				t.Errorf("%q: %v after %d requests", text, err, r.faults.requests())
			}
		}
		r.faults.add(say(200, html, "<p>"))
		var status *dibsclient.StatusError
		if err := watch(t.Context(), r.Registry, dibs.FeedQuery{}); !errors.As(err, &status) {
			t.Errorf("HTML: %v", err)
		}
	})
	t.Run("when the server is gone for long", func(t *testing.T) {
		reg := dialWithin(t, "http://127.0.0.1:1", dibsclient.Options{}, dibsclient.Limits{Patience: 100 * time.Millisecond})
		if err := watch(t.Context(), reg, dibs.FeedQuery{}); !errors.Is(err, dibs.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	})
}

// A server that hangs is left for a new stream; one that says it is alive is not.
func TestWatchNoticesSilence(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	asked := make(chan string, 10)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		opened.Add(1)
		asked <- r.Header.Get("Last-Event-ID")
		w.Header().Set("Content-Type", "text/event-stream")
		control := http.NewResponseController(w)
		say := func(text string) {
			_, _ = fmt.Fprint(w, text)
			_ = control.Flush()
		}
		if opened.Load() == 1 {
			say("id: 7\n\n") // nothing of interest up to here
			for range 5 {
				time.Sleep(40 * time.Millisecond)
				say(": alive\r\n\r\n")
			}
			<-r.Context().Done()
			return
		}
		say("id: 8\r\ndata: {\"cursor\":\"8\",\r\ndata: \"kind\":\"archived\"}\r\n\r\n")
		<-r.Context().Done()
	}))
	defer web.Close()
	reg := dialWithin(t, web.URL, dibsclient.Options{}, dibsclient.Limits{MaxSilence: 150 * time.Millisecond})
	defer func() { _ = reg.Close() }() // or the server would wait for its stream
	start := time.Now()
	for e, err := range reg.Watch(t.Context(), dibs.FeedQuery{After: "3"}) {
		if err != nil || e.Kind != dibs.EventArchived || e.Cursor != "8" {
			t.Fatalf("got %+v, %v", e, err)
		}
		break
	}
	if first, second := <-asked, <-asked; first != "3" || second != "7" || time.Since(start) < 200*time.Millisecond {
		t.Errorf("the streams began behind %q and %q, after %v", first, second, time.Since(start))
	}
}
