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

// maxAnswer is how many bytes an answer may have.
const maxAnswer = 64 << 10

// question is what a service is asked.
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

// formatTime writes a moment as the server's API does.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// answer is what a service says. It may say more, which does not matter.
type answer struct {
	Outcome string  `json:"outcome"`
	Entity  *entity `json:"entity"`
	Reason  string  `json:"reason"` // of unknown
}

// readAnswer makes a verdict of a response. Whatever is not exactly an answer is an error:
// a page of a proxy, or of a service that was moved, must not free a name.
func readAnswer(response *http.Response) (dibs.Verdict, error) {
	if response.StatusCode != http.StatusOK {
		return dibs.Unknown, fmt.Errorf("it answered %d %s, which must be 200",
			response.StatusCode, http.StatusText(response.StatusCode))
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return dibs.Unknown, fmt.Errorf("its answer broke off: %w", err)
	case len(text) > maxAnswer:
		return dibs.Unknown, fmt.Errorf("its answer has more than %d bytes", maxAnswer)
	}
	// The answer itself is in no error: nobody knows what it is.
	var a answer
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&a); err != nil {
		return dibs.Unknown, errors.New(`its answer is not JSON like {"outcome": "unknown"}`)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return dibs.Unknown, errors.New("its answer has something behind the JSON")
	}
	if ambiguous(text) {
		return dibs.Unknown, errors.New(`its answer has a member twice, or one of another spelling than "outcome", "entity" and "reason"`)
	}
	return a.verdict()
}

// ambiguous reports whether an answer can be read as another one than encoding/json does.
func ambiguous(text []byte) bool {
	object, err := exactjson.Object(text)
	entity, _ := object["entity"].(map[string]any)
	return err != nil || exactjson.HasVariant(object, "outcome", "entity", "reason") || exactjson.HasVariant(entity, "type", "id")
}

func (a answer) verdict() (dibs.Verdict, error) {
	switch {
	case a.Outcome == "exists" && (a.Entity == nil || a.Entity.Type == "" || a.Entity.ID == ""):
		return dibs.Unknown, errors.New(`it says "exists", but not which entity: "entity" must have "type" and "id"`)
	case a.Outcome == "exists":
		return dibs.Exists(dibs.Entity{Type: a.Entity.Type, ID: a.Entity.ID}), nil
	case a.Outcome == "absent" && a.Entity != nil:
		return dibs.Unknown, errors.New(`it says "absent", and names an entity nevertheless`)
	case a.Outcome == "absent":
		return dibs.Absent, nil
	case a.Outcome == "unknown":
		return dibs.UnknownBecause(a.Reason), nil
	default:
		return dibs.Unknown, errors.New(`"outcome" in its answer must be "exists", "absent" or "unknown"`)
	}
}
