package webhook

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// state is the progress of a hook's deliveries. All events up to the cursor were delivered or
// given up, except the waiting ones. Its times are by the clock of the process that delivers:
// they only schedule retries.
type state struct {
	Owner   string      `json:"owner,omitempty"` // the process that wrote it
	Cursor  dibs.Cursor `json:"cursor,omitempty"`
	Waiting []waiting   `json:"waiting,omitempty"`

	Failures    int          `json:"failures,omitempty"` // since the last success
	PausedUntil dibs.Instant `json:"pausedUntil,omitzero"`
	RetryAt     dibs.Instant `json:"nudged,omitzero"` // that of the hook which was last obeyed

	Delivered   uint64       `json:"delivered,omitempty"`
	Failed      uint64       `json:"failed,omitempty"`
	LastSuccess dibs.Instant `json:"lastSuccess,omitzero"`
	LastFailure dibs.Instant `json:"lastFailure,omitzero"`
	LastError   string       `json:"lastError,omitempty"`
	Oldest      dibs.Instant `json:"oldest,omitzero"` // when the oldest undelivered event happened
}

func stateDocOf(hook string) *doc[state] { return &doc[state]{kind: kindState, label: hook} }

// waiting is an event before the cursor that is neither delivered nor given up. The event
// itself stays in the feed.
type waiting struct {
	After    dibs.Cursor  `json:"after,omitempty"` // just before the event
	Cursor   dibs.Cursor  `json:"cursor"`          // just behind the event
	Attempts int          `json:"attempts,omitempty"`
	First    dibs.Instant `json:"first,omitzero"` // the first attempt
	Next     dibs.Instant `json:"next,omitzero"`  // the next attempt
}

// Status returns the state of a webhook's deliveries.
func (s *Service) Status(ctx context.Context, hook *Hook) (*wire.WebhookStatus, error) {
	st, dead := stateDocOf(hook.ID), deadLetterCountOf(hook.ID)
	if _, err := load(ctx, s.cfg.Store, st, dead); err != nil {
		return nil, err
	}
	c := st.content
	format := func(at dibs.Instant) string { return wire.FormatTime(at.Time()) }
	status := &wire.WebhookStatus{
		Waiting: len(c.Waiting), Behind: len(c.Waiting), Delivered: c.Delivered, Failed: c.Failed, LastError: c.LastError,
		LastSuccess: format(c.LastSuccess), LastFailure: format(c.LastFailure),
		DeadLetters: dead.content.Count, Dropped: dead.content.Dropped,
	}
	if c.PausedUntil.Time().After(time.Now()) {
		status.PausedUntil = format(c.PausedUntil)
	}
	if len(c.Waiting) > 0 {
		status.OldestAt = format(c.Oldest)
	}
	page, err := s.cfg.Registry.Events(ctx, dibs.FeedQuery{After: c.Cursor, Limit: maxBehind})
	if errors.Is(err, dibs.ErrBadCursor) {
		status.LastError = cursorLost
		return status, nil
	}
	for i := range page.Events {
		if e := &page.Events[i]; hook.wants(e) {
			status.Behind++
			status.OldestAt = cmp.Or(status.OldestAt, format(e.At))
		}
	}
	status.More = page.More
	return status, err
}

// cursorLost is the error of a webhook whose cursor the feed does not have.
const cursorLost = "the feed does not have the cursor up to which events were delivered, perhaps because a backup was restored: remove the webhook and add it again"

// maxBehind is how many undelivered events are counted at most.
const maxBehind = 1000
