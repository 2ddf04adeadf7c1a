package webhook

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

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
func messageOf(hook, source string, e *dibs.Event) message {
	id := digest("evt_", string(e.Cursor), e.ID.String(), string(e.Kind), fmt.Sprint(e.Rev), fmt.Sprint(int64(e.At)))
	kind, subject := "dibs.name.", e.Key()
	if e.ID.IsZero() {
		kind, subject = "dibs.entity.", e.Entity.String()
	}
	return newMessage(hook, envelope{
		ID: id, Source: source, Type: kind + string(e.Kind), Subject: subject, Time: wire.FormatTime(e.At.Time()), Data: wire.EventOf(*e),
	})
}

func pingMessage(hook, source, nonce string, now time.Time) message {
	return newMessage(hook, envelope{
		ID: digest("evt_", "ping", hook, nonce), Source: source, Type: pingType, Subject: hook,
		Time: wire.FormatTime(now), Data: map[string]string{"webhook": hook},
	})
}

func newMessage(hook string, e envelope) message {
	e.SpecVersion, e.DataContentType = specVersion, "application/json"
	body, _ := json.Marshal(e) // it never fails: events consist of texts and numbers
	return message{digest("msg_", hook, e.ID), body}
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

const (
	// DefaultGrace is how long a replaced secret continues to sign.
	DefaultGrace = 24 * time.Hour
	// MaxGrace is the longest such time.
	MaxGrace = 30 * 24 * time.Hour

	// maxSecrets bounds the signatures of one request after several rotations in a row.
	maxSecrets = 5
)

// secret signs deliveries. It is stored in clear: a hash could not sign.
type secret struct {
	Text  string       `json:"text"`
	Until dibs.Instant `json:"until,omitzero"` // the end of its use; zero for the newest
}

func newSecret() secret {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // it never fails
	return secret{Text: "whsec_" + base64.StdEncoding.EncodeToString(random)}
}

// rotated returns a new secret followed by those that still sign. The newest of these signs
// until the given time.
func rotated(secrets []secret, now, until dibs.Instant) []secret {
	kept := []secret{newSecret()}
	for i, s := range secrets {
		if i == 0 {
			s.Until = until
		}
		if s.Until > now && len(kept) < maxSecrets {
			kept = append(kept, s)
		}
	}
	return kept
}

// sign returns the signatures of a body, one for each secret that still signs.
func sign(secrets []secret, id string, at time.Time, body []byte) (string, error) {
	var signatures []string
	for _, s := range secrets {
		if s.Until != 0 && s.Until <= dibs.InstantOf(at) {
			continue
		}
		signer, err := standardwebhooks.NewWebhook(s.Text)
		if err != nil {
			return "", err
		}
		signature, err := signer.Sign(id, at, body)
		if err != nil {
			return "", err
		}
		signatures = append(signatures, signature)
	}
	return strings.Join(signatures, " "), nil
}
