package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

const (
	envelopeType = "application/cloudevents+json"
	specVersion  = "1.0"
	pingType     = "dibs.webhook.ping"

	// DefaultSource is the source of events without another one in the configuration.
	DefaultSource = "urn:dibs"
)

// envelope is a CloudEvent in structured mode.
type envelope struct {
	SpecVersion     string `json:"specversion"`
	ID              string `json:"id"`
	Source          string `json:"source"`
	Type            string `json:"type"`
	Subject         string `json:"subject,omitempty"`
	Time            string `json:"time"`
	DataContentType string `json:"datacontenttype"`
	Data            any    `json:"data"`
}

// message is a body to send, with the id by which receivers recognize repetitions.
type message struct {
	id   string
	body []byte
}

// messageOf returns the message of an event for a hook: always the same, byte for byte.
func messageOf(hook, source string, e *dibs.Event) (message, error) {
	id := digest("evt_", string(e.Cursor), e.ID.String(), string(e.Kind), fmt.Sprint(e.Rev), fmt.Sprint(int64(e.At)))
	kind, subject := "dibs.name.", e.Key()
	if e.ID.IsZero() {
		kind, subject = "dibs.entity.", e.Entity.String()
	}
	return newMessage(hook, envelope{
		ID: id, Source: source, Type: kind + string(e.Kind), Subject: subject, Time: wire.FormatTime(e.At.Time()), Data: wire.EventOf(*e),
	})
}

// pingMessage returns a message without an event.
func pingMessage(hook, source, nonce string, now time.Time) (message, error) {
	return newMessage(hook, envelope{
		ID: digest("evt_", "ping", hook, nonce), Source: source, Type: pingType, Subject: hook,
		Time: wire.FormatTime(now), Data: map[string]string{"webhook": hook},
	})
}

func newMessage(hook string, e envelope) (message, error) {
	e.SpecVersion, e.DataContentType = specVersion, "application/json"
	body, err := json.Marshal(e)
	return message{digest("msg_", hook, e.ID), body}, err
}

// eventAt returns the event between two cursors, or nil if the feed no longer has it.
func eventAt(ctx context.Context, store dibs.Store, after, cursor dibs.Cursor) (*dibs.Event, error) {
	events, err := store.Events(ctx, dibs.EventQuery{After: after, Limit: 1})
	if err != nil || len(events) == 0 || events[0].Cursor != cursor {
		return nil, err
	}
	return &events[0], nil
}

var digestEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// digest returns an id that is a hash of its parts. The cursor alone would not be unique: after
// a backup is restored, the feed uses a cursor again for another event.
func digest(start string, parts ...string) string {
	sum := sha256.Sum256([]byte(start + strings.Join(parts, "\x00")))
	return start + strings.ToLower(digestEncoding.EncodeToString(sum[:16]))
}
