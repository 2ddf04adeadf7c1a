// Package document changes the documents of a store by compare-and-swap: read, decide,
// commit if nothing changed meanwhile, else start over.
package document

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
)

var (
	// ErrStale means that nothing was committed, because a record changed since it was read,
	// or is in use by another transaction. A caller can read and decide again.
	ErrStale = errors.New("document: changed since it was read")
	// ErrContended means that [Update] gave up, because other writers committed first each time.
	ErrContended = fmt.Errorf("document: lost against other writers %d times", attempts)
)

const attempts = 10

// Commit commits one group, or returns [ErrStale].
func Commit(ctx context.Context, store dibs.Store, group dibs.Group) error {
	outcomes, err := store.Commit(ctx, []dibs.Group{group})
	if err == nil && (len(outcomes) != 1 || outcomes[0] != dibs.Committed) {
		return ErrStale
	}
	return err
}

// Update commits the group that decide returns, unless it has no writes. If the commit or decide
// returns [ErrStale], Update calls decide again after a pause. After 10 attempts it returns
// [ErrContended] as [dibs.Unavailable].
func Update(ctx context.Context, store dibs.Store, decide func() (dibs.Group, error)) error {
	retry := backoff.Backoff{First: 5 * time.Millisecond, Max: time.Second}
	for range attempts {
		group, err := decide()
		if err == nil && len(group.Writes) > 0 {
			err = Commit(ctx, store, group)
		}
		if err != nil && err == ctx.Err() { //nolint:errorlint // the engine's own errors are classified already
			return dibs.Unavailable(err) // it ended while the engine was asked, and nothing was committed
		}
		if !errors.Is(err, ErrStale) {
			return err
		}
		if err := retry.Wait(ctx); err != nil {
			return dibs.Unavailable(err)
		}
	}
	return dibs.Unavailable(ErrContended)
}
