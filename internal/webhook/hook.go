package webhook

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
)

// The errors of this package, for [errors.Is].
var (
	// ErrNotFound is returned where there is no such webhook.
	ErrNotFound = errors.New("webhook: there is no such webhook")
	// ErrNoLetter is returned where there is no such dead letter.
	ErrNoLetter = errors.New("webhook: there is no such dead letter")
	// ErrInvalid is returned for a webhook that cannot be; the text says why.
	ErrInvalid = errors.New("webhook: not valid")
	// ErrTooMany is returned where there are as many webhooks as there can be.
	ErrTooMany = fmt.Errorf("webhook: there are %d webhooks already: remove one that is no longer needed", maxHooks)
	// ErrTooManyOfOne is returned where one caller has made as many as one can.
	ErrTooManyOfOne = fmt.Errorf("webhook: this caller has made %d webhooks already: remove one that is no longer needed", maxHooksOfOne)
	// ErrPurged is returned for the event of a dead letter that the feed no longer has.
	ErrPurged = errors.New("webhook: the event is no longer in the feed: its name was never confirmed, and its history is over")
)

const (
	maxHooks       = 100
	maxHooksOfOne  = 25 // who made one: nobody can take them all
	maxDescription = 200
	maxNamespaces  = 100

	idStart = "wh_"
)

// Hook is a webhook: where to send what.
type Hook struct {
	ID  string
	URL string
	// Description is for people.
	Description string
	// Namespaces are patterns as in grants: "*", "acme.*", "acme.slug". Events about an
	// entity as a whole are in "*" and in the pattern of its scope.
	Namespaces []string
	// Kinds are the kinds of event that are sent. None means all.
	Kinds []dibs.EventKind
	// Enabled is whether events are sent. While they are not, they wait in the feed.
	Enabled bool
	// Stopped says why the webhook was disabled, if it was not by a person.
	Stopped string
	// CreatedBy is the principal who made it; empty where nobody was known.
	CreatedBy string
	CreatedAt time.Time

	// secrets sign what is sent, the newest first.
	secrets []secret
	// nudged is when somebody last asked for failed deliveries to be tried at once.
	nudged dibs.Instant
	nudge  bool // somebody asks now
	rev    uint64
}

// Enable has events sent, and makes those that failed be tried at once.
func (h *Hook) Enable() { h.Enabled, h.Stopped, h.nudge = true, "", true }

// kinds are all kinds of event there are.
var kinds = []dibs.EventKind{
	dibs.EventReserved, dibs.EventExtended, dibs.EventConfirmed, dibs.EventClaimed, dibs.EventReleased, dibs.EventExpired,
	dibs.EventSuspected, dibs.EventDemoted, dibs.EventRevived, dibs.EventRespelled, dibs.EventGivenUp, dibs.EventUnlocked,
	dibs.EventTransferred, dibs.EventMoved, dibs.EventArchived, dibs.EventRestored, dibs.EventDeleted, dibs.EventForgotten,
}

func newID() string { return idStart + strings.ToLower(rand.Text()[:20]) }

// validate says what is wrong with a hook that is to be kept.
func (h *Hook) validate(guard *Guard) error {
	if err := guard.CheckURL(h.URL); err != nil {
		return invalid("url", "%w", err)
	}
	if len(h.Description) > maxDescription {
		return invalid("description", "has %d bytes, more than the %d allowed", len(h.Description), maxDescription)
	}
	if len(h.Namespaces) == 0 || len(h.Namespaces) > maxNamespaces {
		return invalid("namespaces", `there must be 1 to %d of them, like "*", "acme.*" or "acme.slug"`, maxNamespaces)
	}
	for _, pattern := range h.Namespaces {
		if err := access.CheckPattern(pattern); err != nil {
			return invalid("namespaces", "%w", err)
		}
	}
	for _, kind := range h.Kinds {
		if !slices.Contains(kinds, kind) {
			return invalid("kinds", "there is no kind of event %q: use %s", kind, joinKinds())
		}
	}
	return nil
}

// InvalidError says which member of a webhook is not valid. It matches [ErrInvalid].
type InvalidError struct {
	Field string
	Err   error
}

// Error returns the field and what is wrong with it.
func (e *InvalidError) Error() string { return "webhook: " + e.Field + ": " + e.Err.Error() }

// Unwrap returns what it is, and what is wrong.
func (e *InvalidError) Unwrap() []error { return []error{ErrInvalid, e.Err} }

func invalid(field, format string, args ...any) error {
	return &InvalidError{field, fmt.Errorf(format, args...)}
}

func joinKinds() string {
	texts := make([]string, len(kinds))
	for i, k := range kinds {
		texts[i] = string(k)
	}
	return strings.Join(texts, ", ")
}

// wants reports whether an event is to be sent.
func (h *Hook) wants(e *dibs.Event) bool {
	if len(h.Kinds) > 0 && !slices.Contains(h.Kinds, e.Kind) {
		return false
	}
	if e.ID.IsZero() {
		return access.MatchScope(h.Namespaces, e.Scope)
	}
	return access.Match(h.Namespaces, e.Namespace)
}
