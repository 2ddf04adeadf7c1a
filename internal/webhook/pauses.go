package webhook

import (
	"math/rand/v2"
	"time"
)

// DefaultPauses are the waits after each failure, by default.
func DefaultPauses() []time.Duration {
	return []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour}
}

// pauseAfter returns how long to wait after a number of failures. A random fifth more or less
// than in the list spreads the retries of deliveries that failed together.
func pauseAfter(pauses []time.Duration, failures int) time.Duration {
	pause := pauses[min(max(failures, 1), len(pauses))-1]
	return time.Duration(float64(pause) * (0.8 + 0.4*rand.Float64()))
}
