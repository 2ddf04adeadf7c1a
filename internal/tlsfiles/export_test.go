package tlsfiles

import "time"

// SetClock replaces the clock.
func (r *Reloader) SetClock(now func() time.Time) { r.now = now }
