package wire

// Webhook is where events are sent.
type Webhook struct {
	ID          string   `json:"id" example:"wh_3x4mpl3"`
	URL         string   `json:"url" example:"https://example.com/dibs"`
	Description string   `json:"description,omitempty"`
	Namespaces  []string `json:"namespaces" nullable:"false" doc:"Patterns: * is all, acme.* the scope acme and all below it, acme.slug that one."`
	Kinds       []string `json:"kinds,omitempty" doc:"The kinds of event that are sent; left out, all."`
	Enabled     bool     `json:"enabled" doc:"Whether events are sent. While they are not, they wait in the feed."`
	Stopped     string   `json:"stopped,omitempty" doc:"Why the server disabled it by itself."`
	CreatedBy   string   `json:"createdBy,omitempty" doc:"The principal who made it."`
	CreatedAt   string   `json:"createdAt" format:"date-time"`

	Secret string         `json:"secret,omitempty" doc:"What signs deliveries. It is shown when it is made, and not again."`
	Status *WebhookStatus `json:"status,omitempty" doc:"How it is doing; not in listings."`
}

// WebhookStatus is how a webhook is doing.
type WebhookStatus struct {
	Waiting     int    `json:"waiting" doc:"Events that failed and are tried again, and those behind them."`
	Behind      int    `json:"behind" doc:"Events that are not yet delivered, up to 1,000 beside those that wait."`
	More        bool   `json:"more,omitempty" doc:"There are more than were counted."`
	OldestAt    string `json:"oldestAt,omitempty" format:"date-time" doc:"When the oldest event happened that is not yet delivered."`
	PausedUntil string `json:"pausedUntil,omitempty" format:"date-time" doc:"The receiver fails altogether, and is tried again then."`
	Delivered   uint64 `json:"delivered"`
	Failed      uint64 `json:"failed" doc:"Attempts that failed."`
	LastSuccess string `json:"lastSuccess,omitempty" format:"date-time"`
	LastFailure string `json:"lastFailure,omitempty" format:"date-time"`
	LastError   string `json:"lastError,omitempty"`
	DeadLetters int    `json:"deadLetters"`
	Dropped     int    `json:"dropped,omitempty" doc:"Dead letters that were more than are kept."`
}

// WebhookRequest asks for a webhook.
type WebhookRequest struct {
	URL         string   `json:"url" example:"https://example.com/dibs"`
	Description string   `json:"description,omitempty" maxLength:"200"`
	Namespaces  []string `json:"namespaces,omitempty" doc:"Left out, all in which the key has the rights webhooks and events."`
	Kinds       []string `json:"kinds,omitempty" doc:"Left out, all."`
	Enabled     *bool    `json:"enabled,omitempty" doc:"Left out, true."`
	From        string   `json:"from,omitempty" doc:"Where in the feed it begins: now, beginning, or behind a cursor. Left out, now."`
}

// WebhookChange changes a webhook. What is left out stays as it is.
type WebhookChange struct {
	URL         *string   `json:"url,omitempty"`
	Description *string   `json:"description,omitempty" maxLength:"200"`
	Namespaces  *[]string `json:"namespaces,omitempty"`
	Kinds       *[]string `json:"kinds,omitempty" doc:"An empty list is all of them."`
	Enabled     *bool     `json:"enabled,omitempty" doc:"True also makes deliveries that failed be tried at once."`
}

// WebhookRotation asks for another secret.
type WebhookRotation struct {
	GraceMs *int64 `json:"graceMs,omitempty" minimum:"-9223372036854" maximum:"9223372036854" doc:"For how long the one before it goes on signing, up to 30 days; left out, one day."`
}

// WebhookList is all webhooks that a caller may see.
type WebhookList struct {
	Webhooks []Webhook `json:"webhooks" nullable:"false"`
}

// WebhookAttempt is what became of one delivery.
type WebhookAttempt struct {
	Delivered bool   `json:"delivered"`
	At        string `json:"at" format:"date-time"`
	TookMs    int64  `json:"tookMs"`
	Status    int    `json:"status,omitempty" doc:"What the receiver answered, if it did."`
	Error     string `json:"error,omitempty" doc:"Why it failed."`
}

// DeadLetter is an event that was given up.
type DeadLetter struct {
	ID            string `json:"id" example:"dl_000000000001"`
	Kind          string `json:"kind" example:"confirmed"`
	Where         string `json:"where,omitempty" doc:"The namespace, or the scope of the entity that the event is about."`
	ReservationID string `json:"reservationId,omitempty"`
	EventAt       string `json:"eventAt" format:"date-time" doc:"When it happened."`
	DeadAt        string `json:"deadAt" format:"date-time" doc:"When it was given up."`
	Attempts      int    `json:"attempts"`
	LastError     string `json:"lastError"`
	Event         *Event `json:"event,omitempty" doc:"The event, of a single dead letter, if the feed still has it."`
}

// DeadLetterPage is a page of dead letters, oldest first.
type DeadLetterPage struct {
	DeadLetters []DeadLetter `json:"deadLetters" nullable:"false"`
	NextCursor  string       `json:"nextCursor,omitempty" doc:"The cursor of the next page, if there may be one."`
}

// DeadLettersResent is what became of dead letters that were sent again.
type DeadLettersResent struct {
	Delivered int             `json:"delivered"`
	Purged    int             `json:"purged,omitempty" doc:"Removed, because the feed no longer has their events."`
	Left      int             `json:"left" doc:"Dead letters that there still are. Without a failure: ask again."`
	Failed    *WebhookAttempt `json:"failed,omitempty" doc:"The attempt that failed, at which it stopped."`
}

// Removed says how many were removed.
type Removed struct {
	Removed int `json:"removed"`
}
