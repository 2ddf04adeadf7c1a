// Package inflight lets the Close of an engine wait for the calls in flight.
package inflight

import (
	"context"
	"sync"

	"github.com/calldibs/dibs"
)

// Calls tracks the calls of an engine that are in flight. The zero Calls is open. It is safe
// for concurrent use.
type Calls struct {
	mu     sync.RWMutex // every call holds it for reading
	closed bool
}

// Begin begins a call. It returns the context's error, or UNAVAILABLE after Close. If it
// returns nil, the caller must call [Calls.End].
func (c *Calls) Begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.RLock()
	if c.closed {
		c.mu.RUnlock()
		return dibs.Unavailable(dibs.ErrClosed)
	}
	return nil
}

// End ends a call.
func (c *Calls) End() { c.mu.RUnlock() }

// Close waits for the calls in flight, refuses new ones, and calls closeEngine. Further calls
// of Close do nothing.
func (c *Calls) Close(closeEngine func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return closeEngine()
}
