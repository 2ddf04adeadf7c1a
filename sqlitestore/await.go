package sqlitestore

import (
	"context"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
)

// Await takes SQLite's write lock for a moment. A Commit, in any process, holds it from
// before it reads the clock until its changes are visible.
func (s *Store) Await(ctx context.Context, _ []dibs.Ref, end dibs.Instant) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	return unavailable(s.writer.await(ctx, func() bool { return s.instant() >= end }))
}

// awaitPause is the pause between two attempts, in which others may take the lock.
const awaitPause = time.Millisecond

// await waits until the write lock is free and the condition holds.
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
		if err := backoff.Sleep(ctx, awaitPause); err != nil {
			return err
		}
	}
}

// idle reports whether the write lock is free.
func (w *writer) idle(ctx context.Context) (bool, error) {
	if err := w.mu.lock(ctx); err != nil {
		return false, err
	}
	defer w.mu.Unlock()
	ctx = context.WithoutCancel(ctx) // an interrupted connection would lose its cache
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

// Await takes the write lock for the caller's transaction. It fails if another transaction has
// committed since this one began to read; then the caller must run it again.
func (s *txStore) Await(ctx context.Context, _ []dibs.Ref, end dibs.Instant) error {
	return s.read(ctx, func(run runner) error {
		err := run.exec(ctx, takeLock)
		for err == nil && s.instant() < end {
			err = backoff.Sleep(ctx, awaitPause)
		}
		return err
	})
}
