package tlsfiles

import "time"

// SetClock lets a test move the time.
func (k *Keeper) SetClock(now func() time.Time) { k.now = now }
