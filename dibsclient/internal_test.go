package dibsclient

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// Every command of the wire format has a case in prepare.
func TestPrepareKnowsEveryCommand(t *testing.T) {
	t.Parallel()
	field, _ := reflect.TypeFor[wire.Command]().FieldByName("Op")
	for op := range strings.SplitSeq(field.Tag.Get("enum"), ",") {
		command, err := wire.Command{Op: op}.Command()
		if err != nil {
			command, err = wire.Command{Op: op, ReservationID: dibs.NameID("slug", "a").String()}.Command()
		}
		if err == nil {
			_, err = prepare(command)
		}
		if err != nil {
			t.Errorf("%q: %v", op, err)
		}
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for retry, least := range map[int]time.Duration{1: 25 * time.Millisecond, 2: 50 * time.Millisecond, 3: 100 * time.Millisecond, 100: time.Second} {
		if delay := retryDelay(retry, firstBackoff, 0); delay < least || delay > 2*least {
			t.Errorf("the delay before retry %d is %v", retry, delay)
		}
	}
	if delay := retryDelay(1, firstBackoff, time.Hour); delay < maxRetryAfter || delay > maxRetryAfter+firstBackoff {
		t.Errorf("Retry-After can delay a call by %v", delay)
	}
}

func TestPathSegment(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a": "a", ".": "%2E", "..": "%2E%2E", "...": "...", "a/b c%": "a%2Fb%20c%25", "ü": "%C3%BC"} {
		if got := pathSegment(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestMessageReader(t *testing.T) {
	t.Parallel()
	comments := strings.Repeat(": alive\n\n", maxMessage/4) // heartbeats do not count as part of a message
	stream := comments + "retry: 5\nid: 1\n\nevent: x\ndata:a\ndata: b\nid: 2\n\ndata\n\nid: 3\ndata: half"
	m := newMessageReader(strings.NewReader(stream), func() {})
	for _, want := range []message{{"1", ""}, {"2", "a\nb"}} {
		if got, err := m.next(); got != want || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if got, err := m.next(); err == nil {
		t.Errorf("read an incomplete message: %q", got)
	}
	for _, long := range []string{"data: " + strings.Repeat("x", maxMessage), strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", maxMessage/1000)} {
		_, err := newMessageReader(strings.NewReader(long), func() {}).next()
		if !errors.Is(err, errInvalidStream) || !strings.Contains(err.Error(), "more than") {
			t.Errorf("a long message: %v", err)
		}
	}
}

// idleStream returns a stream without a reader, and a context that ends with it.
func idleStream(cursor string) (*stream, context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	return &stream{namespace: "slug", cursor: dibs.Cursor(cursor), cancel: cancel}, ctx
}

func TestIdleStreamsAreBounded(t *testing.T) {
	t.Parallel()
	var pool streamPool
	first, ended := idleStream("first")
	pool.put(first)
	for i := range maxIdleStreams {
		s, _ := idleStream(fmt.Sprint(i))
		pool.put(s)
	}
	if ended.Err() == nil || pool.take("slug", "first") != nil || len(pool.idle) != maxIdleStreams {
		t.Errorf("%d streams are open", len(pool.idle))
	}
	if pool.take("other", "0") != nil || pool.take("slug", "0") == nil || pool.take("slug", "0") != nil {
		t.Error("take returned a stream of another watcher, or not the right one")
	}
	late, ended := idleStream("late")
	pool.put(late)
	pool.expire(late) // as its timer does
	if ended.Err() == nil || pool.take("slug", "late") != nil {
		t.Error("an expired stream is still open")
	}
}
