package webhook

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

// Ping sends a message without an event, at once, even if the webhook is disabled. If the
// receiver accepts it, waiting events are retried.
func (s *Service) Ping(ctx context.Context, hook *Hook) (Attempt, error) {
	m, err := pingMessage(hook.ID, s.cfg.Source, rand.Text(), time.Now())
	if err != nil {
		return Attempt{}, err
	}
	a := s.sender.send(ctx, hook, m)
	if a.Delivered() && hook.Enabled {
		_, err = s.Change(ctx, hook.ID, func(hook *Hook) error {
			hook.retryNow = true
			return nil
		})
	}
	return a, err
}

// Resend sends the event of a dead letter, at once. If the receiver accepts it, Resend removes
// the dead letter.
func (s *Service) Resend(ctx context.Context, hook *Hook, id string) (Attempt, error) {
	_, event, err := s.DeadLetter(ctx, hook, id)
	if err != nil {
		return Attempt{}, err
	}
	if event == nil {
		return Attempt{}, ErrPurged
	}
	m, err := messageOf(hook.ID, s.cfg.Source, event)
	if err != nil {
		return Attempt{}, err
	}
	a := s.sender.send(ctx, hook, m)
	s.cfg.Observer.Sent(hook.ID, a)
	if a.Delivered() {
		// Another caller may have removed it meanwhile: it was accepted all the same.
		if err = s.RemoveDeadLetter(ctx, hook.ID, id); errors.Is(err, ErrNoDeadLetter) {
			err = nil
		}
	}
	return a, err
}

// Resent is the result of resending dead letters.
type Resent struct {
	Delivered int
	Purged    int // removed because the feed no longer has the event
	Left      int // dead letters that still exist
	// Failed is the failed attempt that ended it. Nil means none failed.
	Failed *Attempt
}

// ResendAll sends the events of dead letters, oldest first, until one fails or the context
// would end before a slow receiver answers. A further call goes on with the rest.
func (s *Service) ResendAll(ctx context.Context, hook *Hook) (r Resent, err error) {
	end, limited := ctx.Deadline()
	behind := ""
	for first := true; r.Failed == nil && (first || !limited || time.Until(end) > s.cfg.Timeout+time.Second); first = false {
		letters, err := s.DeadLetters(ctx, hook.ID, behind, 1)
		if err != nil {
			return r, err
		}
		if len(letters) == 0 {
			break
		}
		behind = letters[0].ID
		a, err := s.Resend(ctx, hook, behind)
		switch {
		case errors.Is(err, ErrNoDeadLetter): // resent by another caller, or no longer covered by the webhook
		case errors.Is(err, ErrPurged):
			r.Purged++
			err = s.RemoveDeadLetter(ctx, hook.ID, behind)
			if err != nil && !errors.Is(err, ErrNoDeadLetter) {
				return r, err
			}
		case err != nil:
			return r, err
		case a.Delivered():
			r.Delivered++
		default:
			r.Failed = &a
		}
	}
	count := deadLetterCountOf(hook.ID)
	_, err = load(ctx, s.cfg.Store, count)
	r.Left = count.content.Count
	return r, err
}
