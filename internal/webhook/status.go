package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/calldibs/dibs"
)

// Status is the state of a webhook's deliveries.
type Status struct {
	// Waiting counts the events that wait for a retry, or behind such an event.
	Waiting int
	// Behind counts the events that are not yet delivered, the waiting ones included. More
	// says that there are more than were counted.
	Behind int
	More   bool
	// OldestAt is when the oldest of them happened. Zero means none.
	OldestAt time.Time
	// PausedUntil is the next attempt with a receiver that is down; zero if it is not.
	PausedUntil time.Time

	Delivered, Failed uint64
	LastSuccess       time.Time
	LastFailure       time.Time
	LastError         string

	// DeadLetters counts the existing ones, Dropped those beyond the most that are kept.
	DeadLetters, Dropped int
}

// Status returns the state of a webhook's deliveries.
func (s *Service) Status(ctx context.Context, hook *Hook) (Status, error) {
	st, dead := stateDocOf(hook.ID), deadLetterCountOf(hook.ID)
	if _, err := load(ctx, s.cfg.Store, st, dead); err != nil {
		return Status{}, err
	}
	c := st.content
	status := Status{
		Waiting: len(c.Waiting), Behind: len(c.Waiting), OldestAt: c.Oldest.Time(), PausedUntil: c.PausedUntil.Time(),
		Delivered: c.Delivered, Failed: c.Failed, LastError: c.LastError,
		LastSuccess: c.LastSuccess.Time(), LastFailure: c.LastFailure.Time(),
		DeadLetters: dead.content.Count, Dropped: dead.content.Dropped,
	}
	if status.PausedUntil.Before(time.Now()) {
		status.PausedUntil = time.Time{}
	}
	if len(c.Waiting) == 0 {
		status.OldestAt = time.Time{}
	}
	page, err := s.cfg.Registry.Events(ctx, dibs.FeedQuery{After: c.Cursor, Limit: maxBehind})
	if errors.Is(err, dibs.ErrBadCursor) {
		status.LastError = cursorLost
		return status, nil
	}
	if err != nil {
		return Status{}, err
	}
	for i := range page.Events {
		if e := &page.Events[i]; hook.wants(e) {
			if status.Behind++; status.OldestAt.IsZero() {
				status.OldestAt = e.At.Time()
			}
		}
	}
	status.More = page.More
	return status, nil
}

// cursorLost is the error of a webhook whose cursor the feed does not have.
const cursorLost = "the feed does not have the cursor up to which events were delivered, perhaps because a backup was restored: remove the webhook and add it again"

// maxBehind is how many undelivered events are counted at most.
const maxBehind = 1000
