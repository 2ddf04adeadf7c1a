package dibsclient

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/calldibs/dibs/internal/backoff"
)

const (
	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second
	// maxRetryAfter is how long a server can make a caller wait.
	maxRetryAfter = 10 * time.Second
)

// pauseBefore returns how long to wait before a retry, the first being 1: twice as long
// each time, somewhat random, so that callers do not come back all at once, and not
// less than the server asked for.
func pauseBefore(retry int, first, after time.Duration) time.Duration {
	pause := first
	for range min(retry-1, 10) {
		pause = min(2*pause, maxPause)
	}
	jitter := rand.N(pause/2 + 1)
	return max(pause/2, min(after, maxRetryAfter)) + jitter
}

// wait pauses. It reports whether there is time left: it does not even begin where the
// context would end before the pause does.
func wait(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	return backoff.Sleep(ctx, d) == nil
}

// retryAfter reads the header of that name: seconds, or a date. What is neither is none.
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxRetryAfter/time.Second))) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(time.Until(date), 0)
	}
	return 0
}
