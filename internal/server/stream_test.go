package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/wire"
)

// stream is a client of the feed.
type stream struct {
	*rig
	lines *bufio.Scanner
	stop  context.CancelFunc
	last  string // the id of the last event
}

// openStream opens the feed after an event.
func openStream(r *rig, path, lastEventID string) *stream {
	r.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	r.Cleanup(stop)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.http.URL+path, nil)
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	if lastEventID != "" {
		req.Header.Set("Last-Event-ID", lastEventID)
	}
	res, err := r.client.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = res.Body.Close() })
	if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || got != "text/event-stream" {
		r.Fatalf("the stream is %d %s", res.StatusCode, got)
	}
	return &stream{rig: r, lines: bufio.NewScanner(res.Body), stop: stop}
}

// message reads the next message or comment.
func (s *stream) message() (fields map[string]string, err error) {
	fields = make(map[string]string)
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		if s.lines.Text() == "" {
			return fields, nil
		}
		fields[name] = value
	}
	if err := s.lines.Err(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// next reads the next event.
func (s *stream) next() wire.Event {
	s.Helper()
	for {
		fields, err := s.message()
		if err != nil {
			s.Fatal(err)
		}
		if fields["data"] == "" {
			continue // a heartbeat
		}
		var e wire.Event
		if err := json.Unmarshal([]byte(fields["data"]), &e); err != nil {
			s.Fatal(err)
		}
		if fields["id"] != e.Cursor || fields["event"] != e.Kind {
			s.Errorf("id and event are %q and %q, the event has %q and %q", fields["id"], fields["event"], e.Cursor, e.Kind)
		}
		s.last = fields["id"]
		return e
	}
}

func (r *rig) reserve(namespace, value string) {
	r.Helper()
	body := fmt.Sprintf(`{"namespace": %q, "value": %q}`, namespace, value)
	if res, text := r.send(http.MethodPost, "/v1/reservations", nil, body); res.status != http.StatusCreated {
		r.Fatalf("reserving %s is %d: %s", value, res.status, text)
	}
}

// A client that resumes after a disconnect sees every event once, in order.
func TestStreamResumes(t *testing.T) {
	t.Parallel()
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, e, nil)
			const events = 60
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range events {
					r.reserve("slug", fmt.Sprintf("n%d", i))
				}
			}()
			s := openStream(r, "/v1/events", "")
			for i := range events {
				if i%7 == 6 { // disconnect, and resume
					s.stop()
					s = openStream(r, "/v1/events", s.last)
				}
				if e := s.next(); e.Canonical != fmt.Sprintf("n%d", i) || e.Kind != "reserved" {
					t.Fatalf("event %d is %s of %s", i, e.Kind, e.Key)
				}
			}
			<-done
		})
	}
}

// A stream of one namespace has only its events.
func TestStreamOfANamespace(t *testing.T) {
	t.Parallel()
	r := newRig(t, onSQLite, nil)
	s := openStream(r, "/v1/events?namespace=acme.slug", "")
	r.reserve("slug", "a")
	r.reserve("acme.slug", "b")
	r.reserve("slug", "c")
	r.reserve("acme.slug", "d")
	for _, want := range []string{"acme.slug:b", "acme.slug:d"} {
		if e := s.next(); e.Key != want {
			t.Errorf("the event is of %s, want %s", e.Key, want)
		}
	}
	if _, text := r.send(http.MethodGet, "/v1/events?namespace=acme.slug&after="+s.last, nil, ""); !strings.Contains(text, `"events":[]`) {
		t.Errorf("the page behind the stream is not empty: %s", text)
	}
}

// A stream without events sends heartbeats.
func TestStreamHeartbeat(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil)
	s := openStream(r, "/v1/events", "")
	for range 3 {
		fields, err := s.message()
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := fields[""]; !ok || text == "" {
			t.Errorf("it is no comment: %v", fields)
		}
	}
}

// A stream ends when the store is out of reach, and its client begins another. It does not ask a store again and again that
// refuses at once.
func TestStreamEndsWithoutItsStore(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil)
	r.server.heartbeat = time.Hour
	s := openStream(r, "/v1/events", "")
	r.reserve("slug", "a")
	s.next()
	r.store.mode.Store(outOfReach)
	if fields, err := s.message(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream goes on: %v, %v", fields, err)
	}
}

// A stream ends when the server drains.
func TestStreamEndsOnDrain(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil)
	s := openStream(r, "/v1/events", "")
	r.reserve("slug", "a")
	s.next()
	r.server.Drain()
	for {
		if _, err := s.message(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the stream is not counted any more", func() bool { return r.metric("dibs_feed_streams") == 0 })
}

// A client that does not read is disconnected, and can resume.
func TestStreamSlowReader(t *testing.T) {
	t.Parallel()
	r := newRig(t, inMemory, nil)
	r.server.streamWrite = 300 * time.Millisecond
	conn, err := net.Dial("tcp", r.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.(*net.TCPConn).SetReadBuffer(1 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET /v1/events?limit=1000 HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the stream is open", func() bool { return r.metric("dibs_feed_streams") == 1 })
	meta := make(map[string]string)
	for i := range 16 {
		meta[fmt.Sprint(i)] = strings.Repeat("x", 255)
	}
	long, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	eventually(t, "the slow reader is disconnected", func() bool {
		for range 8 { // until all buffers are full
			var batch []string
			for range 32 {
				sent++
				batch = append(batch, fmt.Sprintf(`{"namespace": "slug", "value": "n%d", "meta": %s}`, sent, long))
			}
			r.send(http.MethodPost, "/v1/reservations/batch", nil, `{"reservations": [`+strings.Join(batch, ", ")+`]}`)
		}
		return r.metric("dibs_feed_streams") == 0
	})
	r.server.streamWrite = patience // this reader is not slow, but the machine may be
	s := openStream(r, "/v1/events", "")
	for i := range sent {
		if e := s.next(); e.Canonical != fmt.Sprintf("n%d", i+1) {
			t.Fatalf("event %d is of %s", i, e.Key)
		}
	}
}
