package dibs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// extendAt is how far into what is left of a hold Do extends it: early enough for
	// several more tries before it is over.
	extendAt = 3
	// leastPause is between two tries, however little is left.
	leastPause = 20 * time.Millisecond
	// suspectGrace is for a hold that is past its time already, and still there: so
	// long Do tries to extend it.
	suspectGrace = time.Second
	// confirmPause is how long Do waits before it asks again, at first.
	confirmPause    = 50 * time.Millisecond
	maxConfirmPause = 2 * time.Second
	// maxReserves is how often Do asks for its holds when the answer is unknown.
	maxReserves = 5
	// releaseTimeout bounds the releasing of a hold after fn failed.
	releaseTimeout = 5 * time.Second
)

// Unsure marks an error of Do's fn after which nobody can tell whether the entity
// was saved: the hold is then left for the witness, not released. Errors of a
// context count as unsure by themselves.
func Unsure(err error) error {
	if err == nil {
		return nil
	}
	return &unsureError{err}
}

type unsureError struct{ err error }

func (e *unsureError) Error() string { return e.err.Error() }
func (e *unsureError) Unwrap() error { return e.err }

// DoError is what Do returns when it ends with a hold left behind: fn was unsure,
// or the entity exists but its names could not be confirmed. The Holds carry what
// it takes to confirm or release them later.
type DoError struct {
	Holds  []Hold
	Entity Entity // what fn returned; zero if it did not
	Err    error
}

// Error says what went wrong, and that the names are still held.
func (e *DoError) Error() string {
	if e.Entity.IsZero() {
		return fmt.Sprintf("dibs: the names are left held, since it is not known whether their entity was saved: %v", e.Err)
	}
	return fmt.Sprintf("dibs: %s was saved, but its names are not confirmed: %v", e.Entity, e.Err)
}

// Unwrap returns what went wrong.
func (e *DoError) Unwrap() error { return e.Err }

// Do reserves a name, runs fn, and confirms the name for the entity that fn
// returns. While fn runs the hold is extended.
//
// A plain error of fn means that nothing was saved: the hold is released. A panic,
// an error of a context, or one marked with [Unsure] means that nobody knows: the
// hold is left for the witness, and never released. When fn succeeded and the
// confirmation fails, it is tried again until the hold is over, then reported as a
// [*DoError] with the hold; it is never released.
//
// The context that fn is given ends early when the hold is lost.
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

// unwrapOnly turns the refusal of a list of one into the refusal of the one.
func unwrapOnly(err error) error {
	var refused *Error
	if errors.As(err, &refused) && len(refused.Failures) == 1 {
		return refused.Failures[0].Err
	}
	return err
}

// DoAll is Do for several names of one entity, all of them or none.
func (r *Registry) DoAll(ctx context.Context, reserve ReserveAll, fn func(ctx context.Context, holds []Hold) (Entity, error)) ([]Name, error) {
	holds, err := r.holdAll(ctx, reserve)
	if err != nil {
		return nil, err
	}
	return r.doHolding(ctx, reserve, holds, fn)
}

// holdAll reserves the names. Where the answer is unknown it asks again with the same
// token, which nobody else would know if it were lost here.
func (r *Registry) holdAll(ctx context.Context, reserve ReserveAll) ([]Hold, error) {
	if b, ok := r.backend.(EmbeddedBackend); ok && b.IsBound() {
		return nil, fmt.Errorf("%w: inside a transaction there is nothing to hold names for; use Claim", ErrUnsupported)
	}
	if reserve.Token == "" {
		reserve.Token = NewToken()
	}
	for try := 1; ; try++ {
		holds, err := r.ReserveAll(ctx, reserve)
		if !errors.Is(err, ErrOutcomeUnknown) || try == maxReserves || !sleep(ctx, confirmPause) {
			return holds, err
		}
	}
}

// doHolding runs fn with the holds, and then confirms, releases or leaves them.
func (r *Registry) doHolding(
	ctx context.Context, reserve ReserveAll, holds []Hold, fn func(context.Context, []Hold) (Entity, error),
) ([]Name, error) {
	entity, holds, err := r.runHolding(ctx, reserve, holds, fn)
	if err == nil {
		return r.confirmAll(ctx, holds, entity)
	}
	if isUnsure(err) {
		return nil, &DoError{Holds: holds, Err: err}
	}
	// The caller's context may be over; the names should still be free at once.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	commands := make([]Command, len(holds))
	for i, h := range holds {
		commands[i] = Release{ID: h.ID, Token: h.Token}
	}
	if _, failed := r.Apply(ctx, commands...); failed != nil {
		err = errors.Join(err, fmt.Errorf("dibs: the names could not be released and are free only when their time is over: %w", failed))
	}
	return nil, err
}

func isUnsure(err error) bool {
	var unsure *unsureError
	return errors.As(err, &unsure) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// runHolding runs fn while it extends the holds. It returns the holds as they are
// then.
func (r *Registry) runHolding(
	ctx context.Context, reserve ReserveAll, holds []Hold, fn func(context.Context, []Hold) (Entity, error),
) (Entity, []Hold, error) {
	fnCtx, cancel := context.WithCancelCause(ctx)
	// fn may run on after the caller's context ended, and still save: the holds
	// last as long as it does.
	keepCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	latest := slices.Clone(holds)
	var keepers sync.WaitGroup
	for i := range latest {
		keepers.Go(func() { r.keepHeld(keepCtx, &latest[i], reserve.Reservations[i].TTL, cancel) })
	}
	// Also when fn panics: the holds are then left to themselves.
	defer cancel(nil)
	defer keepers.Wait()
	defer stop()
	entity, err := fn(fnCtx, holds)
	stop()
	keepers.Wait()
	return entity, latest, err
}

// keepHeld extends a hold until the context ends, or the hold is over or lost: then
// nobody may rely on it any more, and it says so. Being over is judged by this
// process's own clock, from the moment a hold was asked for: also when the engine
// cannot be reached, fn must not go on as if it had the name.
func (r *Registry) keepHeld(ctx context.Context, hold *Hold, ttl TTL, lost context.CancelCauseFunc) {
	over := time.Now().Add(hold.Remaining)
	if hold.State == Suspect {
		over = time.Now().Add(suspectGrace)
	}
	for extendable := true; ; {
		left := time.Until(over)
		if left <= 0 {
			lost(&Error{Code: CodeAlreadyExpired, Message: "the hold's time is over, and it could not be extended"})
			return
		}
		if !extendable {
			if !sleep(ctx, left) {
				return
			}
			continue
		}
		if !sleep(ctx, max(left/extendAt, min(left, leastPause))) {
			return
		}
		asked := time.Now()
		name, err := r.extendBefore(ctx, Extend{ID: hold.ID, Token: hold.Token, TTL: ttl}, over)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			hold.Name = name
			over = asked.Add(name.Remaining)
		case errors.Is(err, ErrTTLTooLong):
			extendable = false // it is as long as it gets
		case errors.Is(err, ErrUnavailable), errors.Is(err, ErrOutcomeUnknown):
			// There may be time for another try.
		default:
			lost(fmt.Errorf("the hold was lost: %w", err))
			return
		}
	}
}

// extendBefore extends a hold, and gives up when it would be too late.
func (r *Registry) extendBefore(ctx context.Context, extend Extend, over time.Time) (Name, error) {
	ctx, cancel := context.WithDeadline(ctx, over)
	defer cancel()
	return r.Extend(ctx, extend)
}

// confirmAll confirms holds for their entity, again and again while the engine
// fails and the holds live.
func (r *Registry) confirmAll(ctx context.Context, holds []Hold, entity Entity) ([]Name, error) {
	ctx = context.WithoutCancel(ctx) // the entity exists: its name must follow
	remaining := holds[0].Remaining
	commands := make([]Command, len(holds))
	for i, h := range holds {
		commands[i] = Confirm{ID: h.ID, Token: h.Token, Entity: entity}
		remaining = min(remaining, h.Remaining)
	}
	ctx, cancel := context.WithTimeout(ctx, max(remaining, confirmPause))
	defer cancel()
	for pause := confirmPause; ; pause = min(2*pause, maxConfirmPause) {
		results, err := r.Apply(ctx, commands...)
		if err == nil {
			names := make([]Name, len(results))
			for i, result := range results {
				names[i] = result.Names[0]
			}
			return names, nil
		}
		again := errors.Is(err, ErrUnavailable) || errors.Is(err, ErrOutcomeUnknown)
		if !again || !sleep(ctx, pause) {
			return nil, &DoError{Holds: holds, Entity: entity, Err: err}
		}
	}
}

// sleep waits, and reports whether the context lived through it.
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
