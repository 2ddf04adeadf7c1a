package webhook

import "github.com/calldibs/dibs"

// hookContent is what a hook's document holds.
type hookContent struct {
	URL         string           `json:"url"`
	Description string           `json:"description,omitempty"`
	Namespaces  []string         `json:"namespaces"`
	Kinds       []dibs.EventKind `json:"kinds,omitempty"`
	Enabled     bool             `json:"enabled"`
	Stopped     string           `json:"stopped,omitempty"`
	CreatedBy   string           `json:"createdBy,omitempty"`
	CreatedAt   dibs.Instant     `json:"createdAt"`
	Secrets     []secret         `json:"secrets"`
	Nudged      dibs.Instant     `json:"nudged,omitzero"`
}

type hookPage = page[hookContent]

func hookAt(id string) *hookPage { return &hookPage{kind: kindHook, label: id} }

func hookOf(p *hookPage) *Hook {
	c := p.content
	return &Hook{
		ID: p.label, URL: c.URL, Description: c.Description, Namespaces: c.Namespaces, Kinds: c.Kinds, Enabled: c.Enabled,
		Stopped: c.Stopped, CreatedBy: c.CreatedBy, CreatedAt: c.CreatedAt.Time(),
		secrets: c.Secrets, nudged: c.Nudged, rev: p.rev,
	}
}

func (h *Hook) content() hookContent {
	return hookContent{
		URL: h.URL, Description: h.Description, Namespaces: h.Namespaces, Kinds: h.Kinds, Enabled: h.Enabled,
		Stopped: h.Stopped, CreatedBy: h.CreatedBy, CreatedAt: dibs.InstantOf(h.CreatedAt),
		Secrets: h.secrets, Nudged: h.nudged,
	}
}

// state is how far the deliveries of a hook are. Everything up to the cursor was
// delivered or given up, apart from what is waiting. Its dates are by the clock of the
// process that delivers: they say when to try again, and no promise rests on them.
type state struct {
	Owner   string      `json:"owner,omitempty"` // the process that wrote it
	Cursor  dibs.Cursor `json:"cursor,omitempty"`
	Waiting []waiting   `json:"waiting,omitempty"`

	Failures    int          `json:"failures,omitempty"` // since something was last delivered
	PausedUntil dibs.Instant `json:"pausedUntil,omitzero"`
	Nudged      dibs.Instant `json:"nudged,omitzero"` // of the hook, when this was last heeded

	Delivered   uint64       `json:"delivered,omitempty"`
	Failed      uint64       `json:"failed,omitempty"`
	LastSuccess dibs.Instant `json:"lastSuccess,omitzero"`
	LastFailure dibs.Instant `json:"lastFailure,omitzero"`
	LastError   string       `json:"lastError,omitempty"`
	Oldest      dibs.Instant `json:"oldest,omitzero"` // when the oldest event that is not yet delivered happened
}

type statePage = page[state]

func stateAt(hook string) *statePage { return &statePage{kind: kindState, label: hook} }

// waiting is an event that is neither delivered nor given up, while ones behind it are.
// The event itself stays in the feed.
type waiting struct {
	After    dibs.Cursor  `json:"after,omitempty"` // just before it
	Cursor   dibs.Cursor  `json:"cursor"`          // just behind it
	Attempts int          `json:"attempts,omitempty"`
	First    dibs.Instant `json:"first,omitzero"` // when it was first tried
	Next     dibs.Instant `json:"next,omitzero"`  // when it is tried next
}
