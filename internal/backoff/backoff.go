// Package backoff waits between attempts.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Sleep waits for d, or returns the error of the context if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Backoff is an exponential backoff with jitter. It is not safe for concurrent use.
type Backoff struct {
	First, Max time.Duration // the first wait and the longest one
	next       time.Duration
}

// Wait waits before the next attempt: each time twice as long, up to Max. Jitter of half
// the time, in both directions, keeps callers that collided from colliding again.
func (b *Backoff) Wait(ctx context.Context) error {
	wait := max(b.First, b.next)
	b.next = min(2*wait, b.Max)
	return Sleep(ctx, wait/2+rand.N(wait))
}

// Reset makes the next wait the first one again.
func (b *Backoff) Reset() { b.next = 0 }
