package webhook

import "github.com/calldibs/dibs"

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
