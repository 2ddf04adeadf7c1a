package routestore

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
)

const (
	// checkEvery is how often a process reads the stored routes.
	checkEvery = 2 * time.Second
	// leaseTime is how long a process may use them without reading them again.
	leaseTime = 5 * time.Second
	// commitTime is how much longer a commit may take that began just before the end of a lease.
	commitTime = 5 * time.Second
	// changeWait is how long a process that changes the routes waits for all others: a little
	// longer than a lease and its last commit.
	changeWait = leaseTime + commitTime + 2*time.Second
)

// lease allows the use of a part while the stored routes are those of this process. It is
// renewed in the background. If it has expired, because the engine did not answer or the process
// was suspended, the next call renews it.
type lease struct {
	// read reads the stored routes; refusal says that they are not those of this process.
	read func(ctx context.Context) (refusal, err error)

	began    time.Time                // the base of the monotonic clock
	until    atomic.Pointer[deadline] // nil means that the lease has expired
	renewing chan struct{}            // a mutex for renewals by calls

	failed atomic.Pointer[failure] // the last renewal, if it failed
}

// failure is an error and its time.
type failure struct {
	err error
	at  time.Time
}

// deadline is a moment by the monotonic clock and by the wall clock, whichever comes first. The
// wall clock may be set; the monotonic clock may stop while the machine sleeps.
type deadline struct {
	monotonic time.Duration
	wall      time.Time
}

func (l *lease) after(now time.Time, d time.Duration) *deadline {
	return &deadline{now.Sub(l.began) + d, now.Round(0).Add(d)}
}

// valid returns when the lease expires, unless it has expired.
func (l *lease) valid() (time.Time, bool) {
	until, now := l.until.Load(), time.Now()
	if until == nil || now.Sub(l.began) >= until.monotonic || !now.Round(0).Before(until.wall) {
		return time.Time{}, false
	}
	return l.began.Add(until.monotonic), true
}

func newLease(read func(ctx context.Context) (refusal, err error)) *lease {
	return &lease{read: read, began: time.Now(), renewing: make(chan struct{}, 1)}
}

// acquire returns when the lease expires, or why it cannot be renewed.
func (l *lease) acquire(ctx context.Context) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	if until, ok := l.valid(); ok {
		return until, nil
	}
	called := time.Now()
	select {
	case l.renewing <- struct{}{}:
		defer func() { <-l.renewing }()
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
	if until, ok := l.valid(); ok { // another call has renewed it
		return until, nil
	}
	// Waiting calls share a failure: an engine that is gone may take long to fail.
	if last := l.failed.Load(); last != nil && last.at.After(called) {
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

var errSlow = errors.New("routestore: the store took longer to read the routes than the lease lasts: check its load")

// renew reads the stored routes. The lease begins before the read. Other routes end the lease at
// once; without an answer of the engine it expires.
func (l *lease) renew(ctx context.Context) error {
	begin := time.Now()
	refusal, err := l.read(ctx)
	if refusal != nil {
		l.until.Store(nil)
		err = dibs.Unavailable(refusal)
	}
	if err != nil {
		if ctx.Err() == nil { // else the caller gave up
			l.failed.Store(&failure{err, time.Now()})
		}
		return err
	}
	l.until.Store(l.after(begin, leaseTime))
	return nil
}

// keep renews the lease until the context ends, and reports when renewals begin to fail or to
// succeed.
func (l *lease) keep(ctx context.Context, report func(err error)) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		renewal, cancel := context.WithTimeout(ctx, leaseTime)
		err := l.renew(renewal)
		cancel()
		state := stateOf(err)
		if state != last && ctx.Err() == nil {
			report(err)
		}
		last = state
	}
}

// stateOf tells failures apart for the log. The text of an error may differ each time; its cause
// does not.
func stateOf(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*dibs.Error](err); ok && e.Cause != "" {
		return string(e.Cause)
	}
	return err.Error()
}
