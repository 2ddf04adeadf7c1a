package wire

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

const timeFormat = "2006-01-02T15:04:05.000Z"

// FormatTime formats a time as the API does, in UTC with milliseconds; empty for the zero time.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeFormat)
}

// parseTime is the inverse of FormatTime; the zero time for an invalid text.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// maxMs is the largest number of milliseconds in a time.Duration.
const maxMs = math.MaxInt64 / int64(time.Millisecond)

// Duration converts milliseconds. It does not overflow: beyond the range it returns the longest
// duration.
func Duration(ms int64) time.Duration {
	return time.Duration(max(-maxMs, min(ms, maxMs))) * time.Millisecond
}

// RetryAfter reads the header Retry-After: seconds or a date. It returns zero for anything else.
func RetryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) { // then it is the greatest
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(time.Until(date), 0)
	}
	return 0
}
