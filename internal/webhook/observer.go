package webhook

import "time"

// Observer observes a [Dispatcher] and resending. Its methods are called from several
// goroutines.
type Observer interface {
	// Sent is called after each attempt.
	Sent(hook string, a Attempt)
	// GaveUp is called for each dead letter.
	GaveUp(hook string)
	// Backlog reports how many events wait in memory, and when the oldest event happened
	// that is not delivered; the zero time means that none waits.
	Backlog(hook string, waiting int, oldest time.Time)
	// Stopped is called when this process no longer delivers for a hook.
	Stopped(hook string)
	// Removed is called for each hook that no longer exists.
	Removed(hook string)
}

// noObserver does nothing.
type noObserver struct{}

var _ Observer = noObserver{}

func (noObserver) Sent(string, Attempt)           {}
func (noObserver) GaveUp(string)                  {}
func (noObserver) Backlog(string, int, time.Time) {}
func (noObserver) Stopped(string)                 {}
func (noObserver) Removed(string)                 {}
