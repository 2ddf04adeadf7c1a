package webhook

import (
	"errors"
	"fmt"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/wire"
)

// The errors of this package, for [errors.Is].
var (
	// ErrNotFound means that the webhook does not exist.
	ErrNotFound = errors.New("webhook: there is no such webhook")
	// ErrNoDeadLetter means that the dead letter does not exist.
	ErrNoDeadLetter = errors.New("webhook: there is no such dead letter")
	// ErrInvalid means that a webhook is not valid; the text says why.
	ErrInvalid = errors.New("webhook: not valid")
	// ErrTooMany means that the registry has the most webhooks that it may have.
	ErrTooMany = fmt.Errorf("webhook: there are %d webhooks already: remove one that is no longer needed", maxHooks)
	// ErrTooManyOfOne means that the caller has the most webhooks that one caller may have.
	ErrTooManyOfOne = fmt.Errorf("webhook: this caller has created %d webhooks already: remove one that is no longer needed", maxHooksOfOne)
	// ErrPurged means that the feed no longer has the event of a dead letter.
	ErrPurged = errors.New("webhook: the event is no longer in the feed: its name was never confirmed, and its history was purged")
)

const (
	maxHooks       = 100
	maxHooksOfOne  = 25 // of one creator, so that none can take them all
	maxDescription = 200
	maxNamespaces  = 100
)

// Hook is a webhook: which events to send to which URL. It is stored as JSON.
type Hook struct {
	ID  string `json:"-"` // the label of its document
	URL string `json:"url"`
	// Description is for people.
	Description string `json:"description,omitempty"`
	// Namespaces are patterns as in grants: "*", "acme.*", "acme.slug". Events about a
	// whole entity match "*" and the pattern of its scope.
	Namespaces []string `json:"namespaces"`
	// Kinds are the kinds of event to send. Empty means all.
	Kinds []dibs.EventKind `json:"kinds,omitempty"`
	// Enabled is whether events are sent. While it is false, they wait in the feed.
	Enabled bool `json:"enabled"`
	// Stopped is why Dibs disabled the webhook; empty if an operator did.
	Stopped string `json:"stopped,omitempty"`
	// CreatedBy is the principal that created it; empty if unknown.
	CreatedBy string       `json:"createdBy,omitempty"`
	CreatedAt dibs.Instant `json:"createdAt"`
	// DeclaredIn is the place in the configuration that declares it, such as "dibs.toml:12". Empty
	// means that it was made over the API.
	DeclaredIn string `json:"declaredIn,omitempty"`
	// Secrets sign deliveries, the newest first.
	Secrets []secret `json:"secrets"`
	// RetryAt is when a caller last asked to retry failed deliveries at once.
	RetryAt dibs.Instant `json:"nudged,omitzero"`

	retryNow bool // the caller asks for that now
	rev      uint64
}

func hookDocOf(id string) *doc[Hook] { return &doc[Hook]{kind: kindHook, label: id} }

func hookOf(d *doc[Hook]) *Hook {
	hook := d.content
	hook.ID, hook.rev = d.label, d.rev
	return &hook
}

// Enable enables the webhook and retries failed deliveries at once.
func (h *Hook) Enable() { h.Enabled, h.Stopped, h.retryNow = true, "", true }

var kinds = wire.EventKinds()

func (h *Hook) validate(guard *Guard) error {
	if err := guard.CheckURL(h.URL); err != nil {
		return invalid("url", "%w", err)
	}
	if len(h.Description) > maxDescription {
		return invalid("description", "has %d bytes, more than the %d allowed", len(h.Description), maxDescription)
	}
	if len(h.Namespaces) == 0 || len(h.Namespaces) > maxNamespaces {
		return invalid("namespaces", `needs 1 to %d patterns like "*", "acme.*" or "acme.slug"`, maxNamespaces)
	}
	for _, pattern := range h.Namespaces {
		if err := access.CheckPattern(pattern); err != nil {
			return invalid("namespaces", "%w", err)
		}
	}
	for _, kind := range h.Kinds {
		if !slices.Contains(kinds, kind) {
			return invalid("kinds", "unknown kind of event %q: use some of %v", kind, kinds)
		}
	}
	return nil
}

// InvalidError names the field of a webhook that is not valid. It matches [ErrInvalid].
type InvalidError struct {
	Field string
	Err   error
}

// Error returns the field and its error.
func (e *InvalidError) Error() string { return "webhook: " + e.Field + ": " + e.Err.Error() }

// Unwrap returns ErrInvalid and the error of the field.
func (e *InvalidError) Unwrap() []error { return []error{ErrInvalid, e.Err} }

func invalid(field, format string, args ...any) error {
	return &InvalidError{field, fmt.Errorf(format, args...)}
}

// wants reports whether the webhook is for an event.
func (h *Hook) wants(e *dibs.Event) bool {
	return (len(h.Kinds) == 0 || slices.Contains(h.Kinds, e.Kind)) && h.covers(e.ID, whereOf(e))
}

// covers reports whether the webhook has a namespace, or without a name the scope of an entity.
func (h *Hook) covers(name dibs.ID, where string) bool {
	if name.IsZero() {
		return access.MatchScope(h.Namespaces, where)
	}
	return access.Match(h.Namespaces, where)
}

// whereOf returns the namespace of an event about a name, and the scope of one about an entity.
func whereOf(e *dibs.Event) string {
	if e.ID.IsZero() {
		return e.Scope
	}
	return e.Namespace
}
