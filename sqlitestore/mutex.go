package sqlitestore

import "context"

// ctxMutex is a mutex whose waiters can give up. Waiters get it in the order in which they
// came.
type ctxMutex chan struct{}

func newMutex() ctxMutex { return make(ctxMutex, 1) }

// Lock waits for the mutex.
func (m ctxMutex) Lock() { m <- struct{}{} }

// Unlock releases the mutex.
func (m ctxMutex) Unlock() { <-m }

// TryLock takes the mutex if it is free.
func (m ctxMutex) TryLock() bool {
	select {
	case m <- struct{}{}:
		return true
	default:
		return false
	}
}

// lock waits for the mutex until the context ends.
func (m ctxMutex) lock(ctx context.Context) error {
	select {
	case m <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
