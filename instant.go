package dibs

import "time"

// Instant is a moment on the engine's clock, in milliseconds since the Unix epoch. The zero
// Instant means no date.
type Instant int64

// InstantOf returns t as an Instant, truncated to the millisecond. The zero time becomes the
// zero Instant.
func InstantOf(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixMilli())
}

// Time returns the instant in UTC, or the zero time for the zero Instant.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(i)).UTC()
}

// String returns the instant as RFC 3339 in UTC, or "never".
func (i Instant) String() string {
	if i == 0 {
		return "never"
	}
	return i.Time().Format("2006-01-02T15:04:05.000Z07:00")
}

// Add returns the instant d later, in whole milliseconds.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d.Milliseconds()) }

// Sub returns how much later i is than j.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i-j) * time.Millisecond }

// Reached reports whether the instant is at or before now: a hold that ends at t is over at t.
// The zero Instant is never reached.
func (i Instant) Reached(now Instant) bool { return i != 0 && i <= now }
