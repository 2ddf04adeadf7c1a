package routestore

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
)

const (
	// checkEvery is how often the routes on record are looked at.
	checkEvery = 2 * time.Second
	// leaseTime is how long what was seen may be relied on.
	leaseTime = 5 * time.Second
	// commitTime is how much longer a commit may take that began just before that.
	commitTime = 5 * time.Second
	// settleTime is how long whoever changes the routes waits for all others: a little
	// longer than any of them may go on.
	settleTime = leaseTime + commitTime + 2*time.Second
)

// lease lets a part be used as long as the routes on record are known to be this process's.
// It is renewed in the background. One that has run out, because the engine did not answer
// or the process stood still, is renewed by whoever comes first.
type lease struct {
	look func(ctx context.Context) (refusal, err error) // at what is on record

	began time.Time                // when this process's stopwatch was started
	until atomic.Pointer[deadline] // when it runs out; nil: it has
	turn  chan struct{}            // held by who renews it

	failed atomic.Pointer[failure] // the last look, if it found no routes of ours
}

// failure is why a look found nothing, and when.
type failure struct {
	err error
	at  time.Time
}

// deadline is a moment by the stopwatch and by the calendar, whichever comes first. The
// calendar may be set; the stopwatch may stand still while the machine sleeps.
type deadline struct {
	stopwatch time.Duration
	calendar  time.Time
}

func (l *lease) after(now time.Time, d time.Duration) *deadline {
	return &deadline{now.Sub(l.began) + d, now.Round(0).Add(d)}
}

// valid returns when the lease runs out, unless it has.
func (l *lease) valid() (time.Time, bool) {
	until, now := l.until.Load(), time.Now()
	if until == nil || now.Sub(l.began) >= until.stopwatch || !now.Round(0).Before(until.calendar) {
		return time.Time{}, false
	}
	return l.began.Add(until.stopwatch), true
}

func newLease(look func(ctx context.Context) (refusal, err error)) *lease {
	return &lease{look: look, began: time.Now(), turn: make(chan struct{}, 1)}
}

// hold returns when the lease runs out, or why there is none.
func (l *lease) hold(ctx context.Context) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	if until, ok := l.valid(); ok {
		return until, nil
	}
	came := time.Now()
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
	if until, ok := l.valid(); ok { // somebody was faster
		return until, nil
	}
	// An engine that is gone may take long to say so: not to each of them in turn.
	if last := l.failed.Load(); last != nil && last.at.After(came) {
		return time.Time{}, last.err
	}
	if err := l.renew(ctx); err != nil {
		return time.Time{}, err
	}
	if until, ok := l.valid(); ok {
		return until, nil
	}
	return time.Time{}, dibs.Unavailable(errSlow)
}

var errSlow = errors.New("routestore: the store took longer to show the routes on record than they may be relied on")

// renew looks at what is on record. The lease begins before the look does. Other routes end
// it at once; an engine that does not answer lets it run out.
func (l *lease) renew(ctx context.Context) error {
	begin := time.Now()
	refusal, err := l.look(ctx)
	if refusal != nil {
		l.until.Store(nil)
		err = dibs.Unavailable(refusal)
	}
	if err != nil {
		if ctx.Err() == nil { // else it was the caller who gave up
			l.failed.Store(&failure{err, time.Now()})
		}
		return err
	}
	l.until.Store(l.after(begin, leaseTime))
	return nil
}

// keep renews the lease until the context ends, and tells of every change for better or
// worse.
func (l *lease) keep(ctx context.Context, tell func(err error)) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		looking, cancel := context.WithTimeout(ctx, leaseTime)
		err := l.renew(looking)
		cancel()
		state := stateOf(err)
		if state != last && ctx.Err() == nil {
			tell(err)
		}
		last = state
	}
}

// stateOf is what makes one failure another one for the log. The text of an engine that
// fails differs from one look to the next; its cause does not.
func stateOf(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*dibs.Error](err); ok && e.Cause != "" {
		return string(e.Cause)
	}
	return err.Error()
}
