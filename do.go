package dibs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// extendAt is how far into a hold Do extends it: early enough for two more
	// tries before it is over.
	extendAt = 3
	// confirmPause is how long Do waits before it confirms again, at first.
	confirmPause    = 50 * time.Millisecond
	maxConfirmPause = 2 * time.Second
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

func (r *Registry) holdAll(ctx context.Context, reserve ReserveAll) ([]Hold, error) {
	if c, ok := r.backend.(*core); ok && c.writer == nil {
		return nil, fmt.Errorf("%w: inside a transaction there is nothing to hold names for; use Claim", ErrUnsupported)
	}
	return r.ReserveAll(ctx, reserve)
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
	stop := make(chan struct{})
	extended := make(chan []Hold, 1)
	// fn may run on after the caller's context ended, and still save: the holds
	// last as long as it does.
	go func() { extended <- r.keepHeld(context.WithoutCancel(ctx), reserve, holds, stop, cancel) }()
	// Also when fn panics: the holds are then left to themselves.
	finish := func() []Hold {
		close(stop)
		latest := <-extended
		cancel(nil)
		return latest
	}
	panicked := true
	defer func() {
		if panicked {
			finish()
		}
	}()
	entity, err := fn(fnCtx, holds)
	panicked = false
	return entity, finish(), err
}

// keepHeld extends holds until it is told to stop, they are lost, or they have
// been extended as far as their policy allows.
func (r *Registry) keepHeld(ctx context.Context, reserve ReserveAll, holds []Hold, stop <-chan struct{}, lost context.CancelCauseFunc) []Hold {
	holds = append([]Hold(nil), holds...)
	ttl := holds[0].Remaining
	for _, h := range holds {
		ttl = min(ttl, h.Remaining)
	}
	for {
		timer := time.NewTimer(max(ttl/extendAt, time.Millisecond))
		select {
		case <-stop:
			timer.Stop()
			return holds
		case <-timer.C:
		}
		commands := make([]Command, len(holds))
		for i, h := range holds {
			commands[i] = Extend{ID: h.ID, Token: h.Token, TTL: reserve.Reservations[i].TTL}
		}
		results, err := r.Apply(ctx, commands...)
		switch {
		case err == nil:
			ttl = results[0].Names[0].Remaining
			for i, result := range results {
				holds[i].Name = result.Names[0]
				ttl = min(ttl, holds[i].Remaining)
			}
		case errors.Is(err, ErrUnavailable), errors.Is(err, ErrOutcomeUnknown), errors.Is(err, ErrTTLTooLong):
			// There is time for another try, or the hold is as long as it gets.
		default:
			lost(fmt.Errorf("the hold was lost: %w", err))
			<-stop
			return holds
		}
	}
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
