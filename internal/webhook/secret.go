package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/calldibs/dibs"
)

const (
	secretStart = "whsec_"
	secretBytes = 32

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
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // it never fails
	return secret{Text: secretStart + base64.StdEncoding.EncodeToString(random)}
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
