package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
)

// errAgain asks for another try.
var errAgain = errors.New("try again")

const (
	tries     = 10
	firstWait = 5 * time.Millisecond // and twice as long each time
)

// insist commits what decide returns. Where somebody else was faster it decides again.
func (s *KeyStore) insist(ctx context.Context, decide func() (dibs.Group, error)) error {
	wait := firstWait
	for range tries {
		group, err := decide()
		if err == nil {
			err = s.commit(ctx, group)
		}
		if !errors.Is(err, errAgain) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return dibs.Unavailable(ctx.Err())
		}
		wait *= 2
	}
	return dibs.Unavailable(fmt.Errorf("keys: others were faster %d times", tries))
}

func (s *KeyStore) commit(ctx context.Context, group dibs.Group) error {
	outcomes, err := s.store.Commit(ctx, []dibs.Group{group})
	switch {
	case err != nil:
		return err
	case len(outcomes) == 1 && outcomes[0] == dibs.Committed:
		return nil
	default: // stale or busy
		return errAgain
	}
}
