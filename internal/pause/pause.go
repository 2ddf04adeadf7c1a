// Package pause sleeps until a time is over or a context ends.
package pause

import (
	"context"
	"time"
)

// For sleeps for d. If the context ends first, For returns the context's error at once.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
