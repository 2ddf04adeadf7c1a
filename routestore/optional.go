package routestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/calldibs/dibs"
)

// Ping fails if no part answers: as long as one does, there is something to serve.
func (s *Store) Ping(ctx context.Context) error {
	answers := make(chan error, len(s.parts))
	for _, p := range s.parts {
		go func() { answers <- p.Ping(ctx) }()
	}
	var errs []error
	for range s.parts {
		err := <-answers
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Wake receives when any part has heard of another process's commit.
func (s *Store) Wake(ctx context.Context) <-chan struct{} {
	if len(s.parts) == 1 {
		return s.parts[0].Wake(ctx)
	}
	woken := make(chan struct{}, 1)
	for _, p := range s.parts {
		if own := p.Wake(ctx); own != nil {
			go forward(ctx, own, woken)
		}
	}
	return woken
}

// forward passes on what one channel receives, until the context ends.
func forward(ctx context.Context, from <-chan struct{}, to chan<- struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-from:
			select {
			case to <- struct{}{}:
			default: // whoever reads it is about to look anyway
			}
			if !open {
				return
			}
		}
	}
}

// Now estimates the clock of the only part. Several have no common one; see [Store.Parts].
func (s *Store) Now() (dibs.Instant, bool) {
	if len(s.parts) > 1 {
		return 0, false
	}
	return s.parts[0].Now()
}

// Writers is how many batches the part with all other scopes likes to have under way.
func (s *Store) Writers() int { return s.rest().Writers() }

// Bind binds the only part to a transaction of the caller's. Of several, [dibs.Open] binds
// the one that the transaction is on.
func (s *Store) Bind(bind func(dibs.Store) (dibs.Store, error)) (dibs.Store, error) {
	if len(s.parts) > 1 {
		return nil, fmt.Errorf("%w: binding all of several parts to one transaction", dibs.ErrUnsupported)
	}
	return s.parts[0].Bind(bind)
}
