package webhook

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/document"
)

// leaseContent is the content of the lease's document.
type leaseContent struct {
	Owner string       `json:"owner,omitempty"` // the process that delivers
	Until dibs.Instant `json:"until,omitzero"`  // by the engine's clock
}

type leaseDoc = doc[leaseContent]

func newLeaseDoc() *leaseDoc { return &leaseDoc{kind: kindLease, label: "deliveries"} }

// lease is the right to deliver, which one process has at a time. It is safe for
// concurrent use.
//
// It expires by the engine's clock. No process takes it earlier, and of those that try then
// one succeeds, because each replaces the revision that it read. The owner measures the time
// left by its own clock, from the moment before it asked: that is never too long.
type lease struct {
	store      dibs.Store
	owner      string
	length     time.Duration
	renewAfter time.Duration

	mu        sync.Mutex
	expiresAt time.Time // by this process's clock
}

// newLease returns a lease of a length. A delivery starts only if the lease lasts as long as the
// delivery may take, so the lease is renewed well before that.
func newLease(store dibs.Store, length, delivery time.Duration) *lease {
	return &lease{store: store, owner: rand.Text(), length: length, renewAfter: (length - delivery) / 3}
}

// left returns how long the lease lasts; zero if this process does not have it.
func (l *lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(time.Until(l.expiresAt), 0)
}

func (l *lease) setExpiry(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expiresAt = at
}

// hold takes the lease, or renews it when that is due, and reports whether this process has
// it. Despite an error the process may still have it.
func (l *lease) hold(ctx context.Context) (bool, error) {
	if l.length-l.left() < l.renewAfter {
		return true, nil
	}
	d := newLeaseDoc()
	asked := time.Now()
	now, err := load(ctx, l.store, d)
	if err != nil {
		return l.left() > 0, err
	}
	if d.content.Owner != l.owner && d.content.Until > now {
		l.setExpiry(time.Time{})
		return false, nil
	}
	err = l.write(ctx, d, leaseContent{Owner: l.owner, Until: now.Add(l.length)})
	switch {
	case errors.Is(err, document.ErrStale): // another process was faster, or the engine is busy
		return l.left() > 0, nil
	case err != nil:
		return l.left() > 0, err
	}
	l.setExpiry(asked.Add(l.length))
	return true, nil
}

// release lets another process take the lease at once.
func (l *lease) release(ctx context.Context) error {
	if l.left() == 0 {
		return nil
	}
	l.setExpiry(time.Time{})
	d := newLeaseDoc()
	if _, err := load(ctx, l.store, d); err != nil || d.content.Owner != l.owner {
		return err
	}
	return l.write(ctx, d, leaseContent{})
}

func (l *lease) write(ctx context.Context, d *leaseDoc, content leaseContent) error {
	d.content = content
	var c change
	c.save(d)
	if c.err != nil {
		return c.err
	}
	return document.Commit(ctx, l.store, c.group)
}
