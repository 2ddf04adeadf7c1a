package dibs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// extendFraction makes Do extend a hold after a third of its remaining time. The rest is for
	// retries.
	extendFraction = 3
	// minExtendPause is the minimum pause between two attempts to extend.
	minExtendPause = 20 * time.Millisecond
	// suspectGrace is how long Do tries to extend a hold that is already suspect.
	suspectGrace = time.Second
	// retryPause is the first pause before a retry; maxRetryPause bounds the backoff.
	retryPause    = 50 * time.Millisecond
	maxRetryPause = 2 * time.Second
	// maxReserves is how often Do tries to reserve while the outcome is unknown.
	maxReserves = 5
	// releaseTimeout bounds the release of the holds after fn failed.
	releaseTimeout = 5 * time.Second
)

// Do reserves a name, runs fn, and confirms the name for the entity that fn returns. It extends
// the hold while fn runs. The context of fn ends early if the hold is lost.
//
// An ordinary error of fn means that the entity was not saved: Do releases the hold. After a
// panic, an error of a context (also the cause that ended fn's own), or one marked with [Unsure]
// it is unknown: Do leaves the hold for the witness. If fn succeeds and the confirmation fails, Do
// retries until the hold is over and then returns a [*DoError] with the hold; it does not release
// it. If the hold could not be extended, each of these errors also says why.
func (r *Registry) Do(ctx context.Context, reserve Reserve, fn func(ctx context.Context, hold Hold) (Entity, error)) (Name, error) {
	all := ReserveAll{Reservations: []Reserve{reserve}, Token: reserve.Token}
	all.Reservations[0].Token = ""
	holds, err := r.holdAll(ctx, all)
	if err != nil {
		return Name{}, unwrapOnly(err)
	}
	names, err := r.doHolding(ctx, all, holds, func(ctx context.Context, holds []Hold) (Entity, error) {
		return fn(ctx, holds[0])
	})
	if err != nil {
		return Name{}, err
	}
	return names[0], nil
}

// DoAll is Do for several names of one entity, all or none.
func (r *Registry) DoAll(ctx context.Context, reserve ReserveAll, fn func(ctx context.Context, holds []Hold) (Entity, error)) ([]Name, error) {
	holds, err := r.holdAll(ctx, reserve)
	if err != nil {
		return nil, err
	}
	return r.doHolding(ctx, reserve, holds, fn)
}

// Unsure marks an error of the function that [Registry.Do] runs: it is unknown whether the
// entity was saved. Do then leaves the hold for the witness instead of releasing it. Errors of
// a context count as unsure without it.
func Unsure(err error) error {
	if err == nil {
		return nil
	}
	return &unsureError{err}
}

type unsureError struct{ err error }

func (e *unsureError) Error() string { return e.err.Error() }
func (e *unsureError) Unwrap() error { return e.err }

// DoError is the error of [Registry.Do] when it leaves holds behind: fn was unsure, or the
// entity exists but its names could not be confirmed. The Holds can still be confirmed.
type DoError struct {
	Holds  []Hold // with their tokens
	Entity Entity // the result of fn; zero if fn failed
	Err    error  // the error of fn, or of the confirmation
}

// Error says what went wrong, and that the names are not confirmed.
func (e *DoError) Error() string {
	if e.Entity.IsZero() {
		return fmt.Sprintf("dibs: the names stay held, because it is unknown whether their entity was saved: %v", e.Err)
	}
	return fmt.Sprintf("dibs: %s was saved, but its names are not confirmed: %v", e.Entity, e.Err)
}

// Unwrap returns Err.
func (e *DoError) Unwrap() error { return e.Err }

// holdAll reserves the names. While the outcome is unknown it retries with the same token,
// because the caller may not know the token and could not release the holds.
func (r *Registry) holdAll(ctx context.Context, reserve ReserveAll) ([]Hold, error) {
	if b, ok := r.backend.(EmbeddedBackend); ok && b.IsBound() {
		return nil, fmt.Errorf("%w: Do cannot hold names inside a transaction; use Claim", ErrUnsupported)
	}
	reserve.Token = cmp.Or(reserve.Token, NewToken())
	for try := 1; ; try++ {
		holds, err := r.ReserveAll(ctx, reserve)
		if !errors.Is(err, ErrOutcomeUnknown) || try == maxReserves || !sleep(ctx, retryPause) {
			return holds, err
		}
	}
}

// unwrapOnly turns the refusal of a list with one element into that of the element.
func unwrapOnly(err error) error {
	if refused, ok := errors.AsType[*Error](err); ok && len(refused.Failures) == 1 {
		return refused.Failures[0].Err
	}
	return err
}

// doHolding runs fn with the holds, and then confirms, releases or leaves them.
func (r *Registry) doHolding(
	ctx context.Context, reserve ReserveAll, holds []Hold, fn func(context.Context, []Hold) (Entity, error),
) ([]Name, error) {
	entity, holds, lost, err := r.runHolding(ctx, reserve, holds, fn)
	if err == nil {
		return r.confirmWhileHeld(ctx, holds, entity, lost)
	}
	if isUnsure(err) || lost != nil && errors.Is(err, lost) {
		return nil, &DoError{Holds: holds, Err: because(err, lost)}
	}
	err = because(err, lost)
	// The caller's context may have ended; the names should still be free at once.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if _, failed := r.ReleaseAll(ctx, holds); failed != nil {
		err = errors.Join(err, fmt.Errorf("dibs: the names could not be released and stay held until their time is over: %w", failed))
	}
	return nil, err
}

func isUnsure(err error) bool {
	_, unsure := errors.AsType[*unsureError](err)
	return unsure || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// because adds to an error why the first of the holds was lost, unless the error says so itself.
func because(err, lost error) error {
	if lost == nil || errors.Is(err, lost) {
		return err
	}
	return fmt.Errorf("%w; %w", err, lost)
}

// runHolding runs fn while it extends the holds. It returns the holds as last extended, and why the
// first of them was lost, if any was.
func (r *Registry) runHolding(
	ctx context.Context, reserve ReserveAll, holds []Hold, fn func(context.Context, []Hold) (Entity, error),
) (entity Entity, latest []Hold, lost, err error) {
	fnCtx, cancel := context.WithCancelCause(ctx)
	// fn may save the entity after the caller's context has ended: hold as long as fn runs.
	keepCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	latest = slices.Clone(holds)
	var keepers sync.WaitGroup
	var first sync.Once
	for i := range latest {
		keepers.Go(func() {
			if cause := r.keepHeld(keepCtx, &latest[i], reserve.Reservations[i].TTL); cause != nil {
				first.Do(func() { lost = cause })
				cancel(cause)
			}
		})
	}
	// These also run when fn panics: the holds then end by themselves.
	defer cancel(nil)
	defer keepers.Wait()
	defer stop()
	entity, err = fn(fnCtx, holds)
	stop()
	keepers.Wait()
	return entity, latest, lost, err
}

// keepHeld extends a hold until the context ends. If the hold is over, or Extend is refused, it
// returns why. It measures the end by this process's clock, from the moment of the request, so that
// fn does not continue without the name while the engine cannot be reached.
func (r *Registry) keepHeld(ctx context.Context, hold *Hold, ttl TTL) error {
	var failed error // why the last Extend failed
	over := time.Now().Add(hold.Remaining)
	if hold.State == Suspect {
		over = time.Now().Add(suspectGrace)
	}
	for left := time.Until(over); left > 0; left = time.Until(over) {
		if !sleep(ctx, max(left/extendFraction, min(left, minExtendPause))) {
			return nil
		}
		asked := time.Now()
		extendCtx, cancel := context.WithDeadline(ctx, over)
		name, err := r.Extend(extendCtx, Extend{ID: hold.ID, Token: hold.Token, TTL: ttl})
		cancel()
		failed = err
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // fn has ended, and with it this Extend
		case err == nil:
			hold.Name = name
			over = asked.Add(name.Remaining)
		case errors.Is(err, ErrTTLTooLong):
			// The hold has the policy's maximum length, and cannot be extended.
			if !sleep(ctx, time.Until(over)) {
				return nil
			}
		case errors.Is(err, ErrUnavailable), errors.Is(err, ErrOutcomeUnknown):
			// Retry while there is time.
		default:
			return fmt.Errorf("the hold could not be extended: %w", err)
		}
	}
	return because(&Error{Code: CodeAlreadyExpired, Message: "the hold is over: it could not be extended in time"}, failed)
}

// confirmWhileHeld confirms holds for their entity. It retries while the engine fails, until the
// first of the holds is over. Lost is why one of them was.
func (r *Registry) confirmWhileHeld(ctx context.Context, holds []Hold, entity Entity, lost error) ([]Name, error) {
	first := slices.MinFunc(holds, func(a, b Hold) int { return cmp.Compare(a.Remaining, b.Remaining) })
	// The entity exists and needs its names, also if the caller has left.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(first.Remaining, retryPause))
	defer cancel()
	for pause := retryPause; ; pause = min(2*pause, maxRetryPause) {
		names, err := r.ConfirmAll(ctx, holds, entity)
		if err == nil {
			return names, nil
		}
		retry := errors.Is(err, ErrUnavailable) || errors.Is(err, ErrOutcomeUnknown)
		if !retry || !sleep(ctx, pause) {
			return nil, &DoError{Holds: holds, Entity: entity, Err: because(err, lost)}
		}
	}
}

// sleep waits for d. It returns false if the context ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
