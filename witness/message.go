package witness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/exactjson"
)

// maxAnswer is the largest size of an answer in bytes.
const maxAnswer = 64 << 10

// question is the body of a request.
type question struct {
	ReservationID string            `json:"reservationId"`
	Key           string            `json:"key"`
	Namespace     string            `json:"namespace"`
	Value         string            `json:"value"`
	Canonical     string            `json:"canonical"`
	Epoch         uint64            `json:"epoch"`
	Entity        *entity           `json:"entity,omitempty"`
	CorrelationID string            `json:"correlationId,omitempty"`
	Meta          map[string]string `json:"meta,omitempty"`
	Principal     string            `json:"principal,omitempty"`
	CreatedAt     string            `json:"createdAt"`
	ExpiresAt     string            `json:"expiresAt"`
	AskedAt       string            `json:"askedAt"`
}

type entity struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

func questionOf(hold dibs.SuspectHold) question {
	q := question{
		ReservationID: hold.ID.String(), Key: hold.Key(), Namespace: hold.Namespace, Value: hold.Value, Canonical: hold.Canonical,
		Epoch: hold.Epoch, CorrelationID: hold.CorrelationID, Meta: hold.Meta, Principal: hold.Principal,
		CreatedAt: formatTime(hold.CreatedAt), ExpiresAt: formatTime(hold.ExpiresAt), AskedAt: formatTime(hold.AskedAt),
	}
	if !hold.Entity.IsZero() {
		q.Entity = &entity{hold.Entity.Type, hold.Entity.ID}
	}
	return q
}

// formatTime formats a time as the server's API does.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// answer is the body of a response. Other members are ignored.
type answer struct {
	Outcome string  `json:"outcome"`
	Entity  *entity `json:"entity"`
	Reason  string  `json:"reason"` // for unknown
}

// readAnswer returns the verdict in a response. It refuses every inexact answer: the page of a
// proxy, or of a service that moved, must not free a name.
func readAnswer(response *http.Response) (dibs.Verdict, error) {
	if response.StatusCode != http.StatusOK {
		return dibs.Unknown, fmt.Errorf("the service answered %d %s, want 200",
			response.StatusCode, http.StatusText(response.StatusCode))
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return dibs.Unknown, fmt.Errorf("the answer broke off: %w", err)
	case len(text) > maxAnswer:
		return dibs.Unknown, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	// No error contains the answer, which may be secret.
	var a answer
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&a); err != nil {
		return dibs.Unknown, errors.New(`the answer is not JSON like {"outcome": "unknown"}`)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return dibs.Unknown, errors.New("the answer has something behind the JSON")
	}
	if ambiguous(text) {
		return dibs.Unknown, errors.New(`the answer has a member twice, or in another spelling than "outcome", "entity" and "reason"`)
	}
	return a.verdict()
}

// ambiguous reports whether another decoder could read an answer differently.
func ambiguous(text []byte) bool {
	object, err := exactjson.Object(text)
	entity, _ := object["entity"].(map[string]any)
	return err != nil || exactjson.HasVariant(object, "outcome", "entity", "reason") || exactjson.HasVariant(entity, "type", "id")
}

func (a answer) verdict() (dibs.Verdict, error) {
	switch {
	case a.Outcome == "exists" && (a.Entity == nil || a.Entity.Type == "" || a.Entity.ID == ""):
		return dibs.Unknown, errors.New(`the answer "exists" does not say which entity: "entity" must have "type" and "id"`)
	case a.Outcome == "exists":
		return dibs.Exists(dibs.Entity{Type: a.Entity.Type, ID: a.Entity.ID}), nil
	case a.Outcome == "absent" && a.Entity != nil:
		return dibs.Unknown, errors.New(`the answer "absent" must not name an entity`)
	case a.Outcome == "absent":
		return dibs.Absent, nil
	case a.Outcome == "unknown":
		return dibs.UnknownBecause(a.Reason), nil
	default:
		return dibs.Unknown, errors.New(`"outcome" in the answer must be "exists", "absent" or "unknown"`)
	}
}
