package routestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/calldibs/dibs"
)

// Ping fails if no part answers: a store with one working part still serves its scopes.
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

// Wake returns a channel that receives when another process may have committed in any part.
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

// forward copies the signals of one channel to another until the context ends.
func forward(ctx context.Context, from <-chan struct{}, to chan<- struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-from:
			select {
			case to <- struct{}{}:
			default: // a signal is pending
			}
			if !open {
				return
			}
		}
	}
}

// Now estimates the clock of a single part. Several have no common clock; see [Store.Parts].
func (s *Store) Now() (dibs.Instant, bool) {
	if len(s.parts) > 1 {
		return 0, false
	}
	return s.parts[0].Now()
}

// Writers returns how many batches the registry should commit at once in the default part.
func (s *Store) Writers() int { return s.defaultPart().Writers() }

// Bind binds a single part to a caller's transaction. Of several, the registry binds the part of
// the transaction.
func (s *Store) Bind(bind func(dibs.Store) (dibs.Store, error)) (dibs.Store, error) {
	if len(s.parts) > 1 {
		return nil, fmt.Errorf("%w: several parts cannot join one transaction", dibs.ErrUnsupported)
	}
	return s.parts[0].Bind(bind)
}
