package sqlitestore

import (
	"context"
	"time"

	"github.com/calldibs/dibs"
)

// turn is a mutex for which a caller can wait no longer than its context lives. Waiting
// callers get it in the order in which they came.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// Lock waits for its turn.
func (t turn) Lock() { t <- struct{}{} }

// Unlock lets the next one in.
func (t turn) Unlock() { <-t }

// TryLock takes the turn if it is to be had at once.
func (t turn) TryLock() bool {
	select {
	case t <- struct{}{}:
		return true
	default:
		return false
	}
}

// lockWithin waits for its turn as long as the context lives.
func (t turn) lockWithin(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Await takes SQLite's write lock for a moment. A Commit has it from before it looks at the
// clock until others see what it did, in this process and in every other.
func (s *Store) Await(ctx context.Context, _ []dibs.Ref, end dibs.Instant) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	return unavailable(s.writer.await(ctx, func() bool { return s.instant() >= end }))
}

// await waits until nobody writes and the condition holds.
func (w *writer) await(ctx context.Context, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, w.wait)
	defer cancel()
	for {
		idle, err := w.idle(ctx)
		switch {
		case idle && holds():
			return nil
		case err != nil && !isBusy(err):
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// idle reports whether the write lock is to be had.
func (w *writer) idle(ctx context.Context) (bool, error) {
	if err := w.mu.lockWithin(ctx); err != nil {
		return false, err
	}
	defer w.mu.Unlock()
	ctx = context.WithoutCancel(ctx) // never interrupted, so that the connection keeps its worth
	s, err := w.acquire(ctx)
	if err != nil {
		return false, err
	}
	if err := s.exec(ctx, beginWrite); err != nil {
		if !isBusy(err) {
			w.discard()
		}
		return false, err
	}
	w.rollback()
	return true, nil
}

// Await takes the write lock for the caller's transaction. What others have committed since
// the transaction began to read it cannot see: then it has to be run again.
func (s *txStore) Await(ctx context.Context, _ []dibs.Ref, end dibs.Instant) error {
	return s.read(ctx, func() error {
		if err := s.run.exec(ctx, takeLock); err != nil {
			return err
		}
		for s.instant() < end {
			if err := pause(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// pause waits a little, so that others may have their turn.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Millisecond):
		return nil
	}
}
