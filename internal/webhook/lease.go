package webhook

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/calldibs/dibs"
)

// leaseContent says who delivers, and until when nobody else may.
type leaseContent struct {
	Owner string       `json:"owner,omitempty"`
	Until dibs.Instant `json:"until,omitzero"` // by the engine's clock
}

type leasePage = page[leaseContent]

func leaseAt() *leasePage { return &leasePage{kind: kindLease, label: "deliveries"} }

// lease is the right to deliver, which one process has at a time. It is safe for
// concurrent use.
//
// When it is over is for the engine's clock to say: nobody takes it before, and of those
// who try then one succeeds, because each replaces the revision that it saw. How long it
// is still good this process reckons by its own clock, from the moment at which it asked:
// that is never later than the engine's answer.
type lease struct {
	store  dibs.Store
	owner  string
	length time.Duration
	renew  time.Duration // how old it is when it is renewed

	mu   sync.Mutex
	good time.Time // until when, by this process's clock
}

// newLease returns a lease of a length. Deliveries need it to be good for as long as they
// may take, so it is renewed early enough for that never to be in question.
func newLease(store dibs.Store, length, delivery time.Duration) *lease {
	return &lease{store: store, owner: rand.Text(), length: length, renew: (length - delivery) / 3}
}

// left returns for how long the lease is good.
func (l *lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(time.Until(l.good), 0)
}

func (l *lease) set(good time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.good = good
}

// hold takes the lease, or renews it when it is time to, and reports whether this process
// has it. After an error it may have it still.
func (l *lease) hold(ctx context.Context) (bool, error) {
	if l.length-l.left() < l.renew {
		return true, nil
	}
	p := leaseAt()
	asked := time.Now()
	now, err := load(ctx, l.store, p)
	if err != nil {
		return l.left() > 0, err
	}
	if p.content.Owner != l.owner && p.content.Until > now {
		l.set(time.Time{})
		return false, nil
	}
	err = l.write(ctx, p, leaseContent{Owner: l.owner, Until: now.Add(l.length)})
	switch {
	case errors.Is(err, errAgain): // somebody else was faster, or the engine is busy
		return l.left() > 0, nil
	case err != nil:
		return l.left() > 0, err
	}
	l.set(asked.Add(l.length))
	return true, nil
}

// release lets others have the lease at once.
func (l *lease) release(ctx context.Context) error {
	if l.left() == 0 {
		return nil
	}
	l.set(time.Time{})
	p := leaseAt()
	if _, err := load(ctx, l.store, p); err != nil || p.content.Owner != l.owner {
		return err
	}
	return l.write(ctx, p, leaseContent{})
}

func (l *lease) write(ctx context.Context, p *leasePage, content leaseContent) error {
	p.content = content
	write, err := p.write()
	if err != nil {
		return err
	}
	return commit(ctx, l.store, dibs.Group{Reads: []dibs.Read{p.read()}, Writes: []dibs.Write{write}})
}
