package dibsclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

func TestPauses(t *testing.T) {
	t.Parallel()
	for retry, least := range map[int]time.Duration{1: 25 * time.Millisecond, 2: 50 * time.Millisecond, 3: 100 * time.Millisecond, 100: time.Second} {
		if pause := pauseBefore(retry, firstPause, 0); pause < least || pause > 2*least {
			t.Errorf("the pause before retry %d is %v", retry, pause)
		}
	}
	if pause := pauseBefore(1, firstPause, time.Hour); pause < maxRetryAfter || pause > maxRetryAfter+firstPause {
		t.Errorf("a server can make a caller wait for %v", pause)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	tests := []struct {
		text        string
		least, most time.Duration
	}{
		{"", 0, 0},
		{"soon", 0, 0},
		{"-5", 0, 0},
		{"2", 2 * time.Second, 2 * time.Second},
		{"9223372036854775807", maxRetryAfter, maxRetryAfter},
		{date(time.Minute), 50 * time.Second, time.Minute},
		{date(-time.Minute), 0, 0},
	}
	for _, test := range tests {
		if d := retryAfter(http.Header{"Retry-After": {test.text}}); d < test.least || d > test.most {
			t.Errorf("%q means %v", test.text, d)
		}
	}
}

func TestSegments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a": "a", ".": "%2E", "..": "%2E%2E", "...": "...", "a/b c%": "a%2Fb%20c%25", "ü": "%C3%BC"} {
		if got := segment(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	comments := strings.Repeat(": alive\n\n", maxMessage/4) // a stream may live for years
	stream := comments + "retry: 5\nid: 1\n\nevent: x\ndata:a\ndata: b\nid: 2\n\ndata\n\nid: 3\ndata: half"
	m := newMessages(strings.NewReader(stream), func() {})
	for _, want := range []message{{"1", ""}, {"2", "a\nb"}} {
		if got, err := m.next(); got != want || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if got, err := m.next(); err == nil {
		t.Errorf("half a message was read: %q", got)
	}
	for _, long := range []string{"data: " + strings.Repeat("x", maxMessage), strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", maxMessage/1000)} {
		_, err := newMessages(strings.NewReader(long), func() {}).next()
		var damaged *damagedError
		if !errors.As(err, &damaged) || !strings.Contains(err.Error(), "more than") {
			t.Errorf("a long message: %v", err)
		}
	}
}

// idleStream is a stream that nobody reads, and whether it was ended.
func idleStream(cursor string) (*stream, context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	return &stream{namespace: "slug", cursor: dibs.Cursor(cursor), cancel: cancel}, ctx
}

func TestIdleStreamsAreBounded(t *testing.T) {
	t.Parallel()
	var kept streams
	first, ended := idleStream("first")
	kept.put(first)
	for i := range maxIdle {
		s, _ := idleStream(fmt.Sprint(i))
		kept.put(s)
	}
	if ended.Err() == nil || kept.take("slug", "first") != nil || len(kept.idle) != maxIdle {
		t.Errorf("%d streams are kept", len(kept.idle))
	}
	if kept.take("other", "0") != nil || kept.take("slug", "0") == nil || kept.take("slug", "0") != nil {
		t.Error("a stream was given to the wrong watcher, or not to the right one")
	}
	late, ended := idleStream("late")
	kept.put(late)
	kept.drop(late) // as its timer does
	if ended.Err() == nil || kept.take("slug", "late") != nil {
		t.Error("a stream that nobody came back for is still open")
	}
	kept.closeAll()
	after, ended := idleStream("after")
	if kept.put(after); ended.Err() == nil || len(kept.idle) != 0 {
		t.Error("a stream outlived Close")
	}
}
