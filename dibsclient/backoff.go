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
	firstBackoff = 50 * time.Millisecond
	maxBackoff   = 2 * time.Second
	// maxRetryAfter is the longest Retry-After that the client obeys.
	maxRetryAfter = 10 * time.Second
)

// retryDelay returns the delay before a retry, the first being 1. It doubles with each retry,
// has jitter, and is at least what the server asked for.
func retryDelay(retry int, first, retryAfter time.Duration) time.Duration {
	delay := min(first<<min(retry-1, 10), maxBackoff)
	jitter := rand.N(delay/2 + 1)
	return max(delay/2, min(retryAfter, maxRetryAfter)) + jitter
}

// backOff waits before a retry, and reports whether the context leaves time for it. It returns
// at once if the context's deadline is earlier.
func (c *client) backOff(ctx context.Context, do call, f *failure, retry int) bool {
	delay := retryDelay(retry, c.firstBackoff, f.retryAfter)
	c.options.Logger.DebugContext(ctx, "dibs: retrying a call", "call", do.name, "error", f.err, "delay", delay)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= delay {
		return false
	}
	return backoff.Sleep(ctx, delay) == nil
}

// retryAfter reads the header Retry-After: seconds or a date. It returns zero for anything
// else.
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
