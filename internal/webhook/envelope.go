package webhook

import (
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

	// DefaultSource is the source of events where the configuration has none.
	DefaultSource = "urn:dibs"
)

// envelope is a CloudEvent in its structured form.
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

// message is what is sent: a body, and the id by which a receiver knows it again.
type message struct {
	id   string
	body []byte
}

// messageOf makes the message of an event. It is the same, byte for byte, each time that
// the event is sent to the same hook.
func messageOf(hook, source string, e *dibs.Event) (message, error) {
	id := digest("evt_", string(e.Cursor), e.ID.String(), string(e.Kind), fmt.Sprint(e.Rev), fmt.Sprint(int64(e.At)))
	kind, subject := "dibs.name.", e.Key()
	if e.ID.IsZero() {
		kind, subject = "dibs.entity.", e.Entity.String()
	}
	body, err := json.Marshal(envelope{
		SpecVersion: specVersion, ID: id, Source: source, Type: kind + string(e.Kind), Subject: subject,
		Time: wire.FormatTime(e.At.Time()), DataContentType: "application/json", Data: wire.EventOf(*e),
	})
	return message{digest("msg_", hook, id), body}, err
}

// pingMessage makes a message that tells of nothing.
func pingMessage(hook, source, nonce string, now time.Time) (message, error) {
	id := digest("evt_", "ping", hook, nonce)
	body, err := json.Marshal(envelope{
		SpecVersion: specVersion, ID: id, Source: source, Type: pingType, Subject: hook,
		Time: wire.FormatTime(now), DataContentType: "application/json", Data: map[string]string{"webhook": hook},
	})
	return message{digest("msg_", hook, id), body}, err
}

var digestEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// digest makes an id of parts. It tells nothing about them: a place in the feed is used
// again when a backup is restored, and then with another event, so it alone would not do.
func digest(start string, parts ...string) string {
	sum := sha256.Sum256([]byte(start + strings.Join(parts, "\x00")))
	return start + strings.ToLower(digestEncoding.EncodeToString(sum[:16]))
}
