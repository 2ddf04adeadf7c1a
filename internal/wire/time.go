package wire

import (
	"math"
	"time"
)

const timeFormat = "2006-01-02T15:04:05.000Z"

// formatTime writes a time in UTC with milliseconds; nothing for none.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeFormat)
}

// parseTime undoes formatTime. What is no time is none.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// FormatTime writes a time as the API has it, for query parameters; nothing for none.
func FormatTime(t time.Time) string { return formatTime(t) }

// maxMs is how many milliseconds a duration can have.
const maxMs = math.MaxInt64 / int64(time.Millisecond)

// Duration returns so many milliseconds, and for more than a duration can have the longest
// there is. It never becomes another one by overflow.
func Duration(ms int64) time.Duration {
	return time.Duration(max(-maxMs, min(ms, maxMs))) * time.Millisecond
}
