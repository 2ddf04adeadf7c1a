package webhook

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

// Ping sends an event that tells of nothing, at once, whether or not the webhook is
// enabled. A receiver that accepts it is tried again with whatever waits for it.
func (s *Service) Ping(ctx context.Context, hook *Hook) (Attempt, error) {
	m, err := pingMessage(hook.ID, s.cfg.Source, rand.Text(), time.Now())
	if err != nil {
		return Attempt{}, err
	}
	a := s.sender.send(ctx, hook, m)
	if a.Delivered() && hook.Enabled {
		_, err = s.Change(ctx, hook.ID, func(hook *Hook) error {
			hook.nudge = true
			return nil
		})
	}
	return a, err
}

// Resend sends the event of a dead letter, at once. The letter goes when the receiver
// has accepted it.
func (s *Service) Resend(ctx context.Context, hook *Hook, id string) (Attempt, error) {
	_, event, err := s.Letter(ctx, hook, id)
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
		// Somebody else may have been faster: it was accepted all the same.
		if err = s.RemoveLetter(ctx, hook.ID, id); errors.Is(err, ErrNoLetter) {
			err = nil
		}
	}
	return a, err
}

// Resent is what became of dead letters that were sent again.
type Resent struct {
	Delivered int
	Purged    int // of which the feed no longer has the event: they were removed
	Left      int // letters that there still are
	// Failed is the attempt that failed, at which it stopped. Nil means that none did.
	Failed *Attempt
}

// ResendAll sends the events of dead letters, oldest first, until one fails or the
// context would end before a slow receiver answers. What is left can be asked for again.
func (s *Service) ResendAll(ctx context.Context, hook *Hook) (r Resent, err error) {
	end, limited := ctx.Deadline()
	behind := ""
	for first := true; r.Failed == nil && (first || !limited || time.Until(end) > s.cfg.Timeout+time.Second); first = false {
		letters, err := s.Letters(ctx, hook.ID, behind, 1)
		if err != nil {
			return r, err
		}
		if len(letters) == 0 {
			break
		}
		behind = letters[0].ID
		a, err := s.Resend(ctx, hook, behind)
		switch {
		case errors.Is(err, ErrNoLetter): // somebody else did, or the webhook no longer covers it
		case errors.Is(err, ErrPurged):
			r.Purged++
			err = s.RemoveLetter(ctx, hook.ID, behind)
			if err != nil && !errors.Is(err, ErrNoLetter) {
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
	b := boxAt(hook.ID)
	_, err = load(ctx, s.cfg.Store, b)
	r.Left = b.content.Count
	return r, err
}

// Observer is told what a [Courier] and resending do. It is called from several
// goroutines.
type Observer interface {
	// Sent is told of each attempt.
	Sent(hook string, a Attempt)
	// Buried is told of each dead letter.
	Buried(hook string)
	// Standing is told how many events wait in memory, and since when the oldest event
	// is not delivered. Zero and no time mean that nothing waits.
	Standing(hook string, waiting int, oldest time.Time)
	// Left is told that this process no longer delivers for a hook.
	Left(hook string)
	// Removed is told of each hook that is no longer there.
	Removed(hook string)
}

// nobody is an Observer that forgets.
type nobody struct{}

func (nobody) Sent(string, Attempt)            {}
func (nobody) Buried(string)                   {}
func (nobody) Standing(string, int, time.Time) {}
func (nobody) Left(string)                     {}
func (nobody) Removed(string)                  {}

var _ Observer = nobody{}
