package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/calldibs/dibs"
)

// Status is how a webhook is doing.
type Status struct {
	// Waiting is how many events failed and are tried again, or wait behind one of them.
	Waiting int
	// Behind is how many events are not yet delivered, those that wait included; More
	// says that there are more than were counted.
	Behind int
	More   bool
	// OldestAt is when the oldest of them happened. Zero means that there are none.
	OldestAt time.Time
	// PausedUntil is when the receiver is tried again, where it fails altogether.
	PausedUntil time.Time

	Delivered, Failed uint64
	LastSuccess       time.Time
	LastFailure       time.Time
	LastError         string

	// DeadLetters is how many there are; Dropped is how many were more than are kept.
	DeadLetters, Dropped int
}

// Status returns how a webhook is doing.
func (s *Service) Status(ctx context.Context, hook *Hook) (Status, error) {
	st, box := stateAt(hook.ID), boxAt(hook.ID)
	if _, err := load(ctx, s.cfg.Store, st, box); err != nil {
		return Status{}, err
	}
	c := st.content
	status := Status{
		Waiting: len(c.Waiting), Behind: len(c.Waiting), OldestAt: c.Oldest.Time(), PausedUntil: c.PausedUntil.Time(),
		Delivered: c.Delivered, Failed: c.Failed, LastError: c.LastError,
		LastSuccess: c.LastSuccess.Time(), LastFailure: c.LastFailure.Time(),
		DeadLetters: box.content.Count, Dropped: box.content.Dropped,
	}
	if status.PausedUntil.Before(time.Now()) {
		status.PausedUntil = time.Time{}
	}
	if len(c.Waiting) == 0 {
		status.OldestAt = time.Time{}
	}
	page, err := s.cfg.Registry.Events(ctx, dibs.FeedQuery{After: c.Cursor, Limit: maxBehind})
	if errors.Is(err, dibs.ErrBadCursor) {
		status.LastError = astray
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

// astray is what is wrong with a webhook whose place the feed does not know.
const astray = "the feed does not have the place up to which events were delivered, perhaps because a backup was restored: remove the webhook and add it again"

// maxBehind is up to how many events are counted that a webhook has yet to deliver.
const maxBehind = 1000
