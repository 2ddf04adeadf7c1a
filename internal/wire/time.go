package wire

import (
	"math"
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
