package wire

// Webhook is a URL that events are sent to.
type Webhook struct {
	ID          string   `json:"id" example:"wh_3x4mpl3"`
	URL         string   `json:"url" example:"https://example.com/dibs"`
	Description string   `json:"description,omitempty"`
	Namespaces  []string `json:"namespaces" nullable:"false" doc:"Patterns: * is all namespaces, acme.* the scope acme and all below it, acme.slug one namespace."`
	Kinds       []string `json:"kinds,omitempty" nullable:"false" doc:"The kinds of event that are sent. Default: all."`
	Enabled     bool     `json:"enabled" doc:"Whether events are sent. Otherwise they wait in the feed."`
	Stopped     string   `json:"stopped,omitempty" doc:"Why the server disabled it."`
	CreatedBy   string   `json:"createdBy,omitempty" doc:"The principal that created it."`
	CreatedAt   string   `json:"createdAt" format:"date-time"`
	DeclaredIn  string   `json:"declaredIn,omitempty" example:"dibs.toml:12" doc:"The line of the server's configuration that declares it. Such a webhook can be changed and removed only there."`

	Secret string         `json:"secret,omitempty" doc:"The secret that signs deliveries. It is shown only once."`
	Status *WebhookStatus `json:"status,omitempty" doc:"The state of deliveries; not in lists."`
}

// WebhookStatus is the state of a webhook's deliveries.
type WebhookStatus struct {
	Waiting     int    `json:"waiting" doc:"Events that failed and will be retried, and those behind them."`
	Behind      int    `json:"behind" doc:"Undelivered events, up to 1,000 beside those that wait."`
	More        bool   `json:"more,omitempty" doc:"There are more than these."`
	OldestAt    string `json:"oldestAt,omitempty" format:"date-time" doc:"The time of the oldest undelivered event."`
	PausedUntil string `json:"pausedUntil,omitempty" format:"date-time" doc:"The receiver fails; the next attempt is then."`
	Delivered   uint64 `json:"delivered"`
	Failed      uint64 `json:"failed" doc:"Attempts that failed."`
	LastSuccess string `json:"lastSuccess,omitempty" format:"date-time"`
	LastFailure string `json:"lastFailure,omitempty" format:"date-time"`
	LastError   string `json:"lastError,omitempty"`
	DeadLetters int    `json:"deadLetters"`
	Dropped     int    `json:"dropped,omitempty" doc:"Dead letters that were dropped, because there were too many."`
}

// WebhookRequest asks for a webhook.
type WebhookRequest struct {
	URL         string   `json:"url" example:"https://example.com/dibs"`
	Description string   `json:"description,omitempty" maxLength:"200"`
	Namespaces  []string `json:"namespaces,omitempty" doc:"Default: all in which the key has the rights webhooks and events."`
	Kinds       []string `json:"kinds,omitempty" doc:"Default: all."`
	Enabled     *bool    `json:"enabled,omitempty" doc:"Default: true."`
	From        string   `json:"from,omitempty" doc:"Where in the feed it begins: now, beginning, or after a cursor. Default: now."`
}

// WebhookChange changes a webhook. Absent members stay unchanged.
type WebhookChange struct {
	URL         *string   `json:"url,omitempty"`
	Description *string   `json:"description,omitempty" maxLength:"200"`
	Namespaces  *[]string `json:"namespaces,omitempty"`
	Kinds       *[]string `json:"kinds,omitempty" doc:"An empty list means all."`
	Enabled     *bool     `json:"enabled,omitempty" doc:"True also retries failed deliveries at once."`
}

// WebhookRotation asks for a new secret.
type WebhookRotation struct {
	GraceMs *int64 `json:"graceMs,omitempty" minimum:"-9223372036854" maximum:"9223372036854" doc:"How long the old secret still signs, up to 30 days. Default: one day."`
}

// WebhookList is the list of webhooks that a caller may see.
type WebhookList struct {
	Webhooks []Webhook `json:"webhooks" nullable:"false"`
}

// WebhookAttempt is the result of one delivery.
type WebhookAttempt struct {
	Delivered bool   `json:"delivered"`
	At        string `json:"at" format:"date-time"`
	TookMs    int64  `json:"tookMs"`
	Status    int    `json:"status,omitempty" doc:"The status that the receiver answered, if any."`
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
	Event         *Event `json:"event,omitempty" doc:"The event, if the feed still has it; not in lists."`
}

// DeadLetterPage is a page of dead letters, oldest first.
type DeadLetterPage struct {
	DeadLetters []DeadLetter `json:"deadLetters" nullable:"false"`
	NextCursor  string       `json:"nextCursor,omitempty" doc:"The cursor of the next page; absent on the last page."`
}

// DeadLettersResent is the result of sending dead letters again.
type DeadLettersResent struct {
	Delivered int             `json:"delivered"`
	Purged    int             `json:"purged,omitempty" doc:"Removed, because the feed no longer has their events."`
	Left      int             `json:"left" doc:"Dead letters that remain. Without a failure, call again."`
	Failed    *WebhookAttempt `json:"failed,omitempty" doc:"The failed attempt that stopped it."`
}

// Removed is the number of things that were removed.
type Removed struct {
	Removed int `json:"removed"`
}
