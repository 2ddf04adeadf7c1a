package server

import (
	"errors"
	"net/http"
	"strings"

	"github.com/calldibs/dibs/internal/webhook"
	"github.com/calldibs/dibs/internal/wire"
)

// webhookOf converts a webhook, without its secrets.
func webhookOf(hook *webhook.Hook) wire.Webhook {
	shown := wire.Webhook{
		ID: hook.ID, URL: hook.URL, Description: hook.Description, Namespaces: hook.Namespaces, Enabled: hook.Enabled,
		Stopped: hook.Stopped, CreatedBy: hook.CreatedBy, CreatedAt: wire.FormatTime(hook.CreatedAt.Time()),
	}
	for _, kind := range hook.Kinds {
		shown.Kinds = append(shown.Kinds, string(kind))
	}
	return shown
}

func letterOf(l webhook.DeadLetter) wire.DeadLetter {
	shown := wire.DeadLetter{
		ID: l.ID, Kind: string(l.Kind), Where: l.Where, EventAt: wire.FormatTime(l.EventAt.Time()), DeadAt: wire.FormatTime(l.DeadAt.Time()),
		Attempts: l.Attempts, LastError: l.LastError,
	}
	if !l.Name.IsZero() {
		shown.ReservationID = l.Name.String()
	}
	return shown
}

// webhookProblem returns the problem for an error about webhooks; nil for any other error.
func webhookProblem(err error) *problem {
	text := strings.TrimPrefix(err.Error(), "webhook: ")
	var wrong *webhook.InvalidError
	switch {
	case errors.As(err, &wrong):
		p := newProblem(http.StatusUnprocessableEntity, "INVALID_WEBHOOK", text)
		p.Field = wrong.Field
		return p
	case errors.Is(err, webhook.ErrNotFound):
		return newProblem(http.StatusNotFound, "WEBHOOK_NOT_FOUND", "no such webhook")
	case errors.Is(err, webhook.ErrNoDeadLetter):
		return newProblem(http.StatusNotFound, "DEAD_LETTER_NOT_FOUND", "no such dead letter")
	case errors.Is(err, webhook.ErrPurged):
		return newProblem(http.StatusNotFound, "EVENT_PURGED", text)
	case errors.Is(err, webhook.ErrTooMany), errors.Is(err, webhook.ErrTooManyOfOne):
		return newProblem(http.StatusUnprocessableEntity, "TOO_MANY_WEBHOOKS", text)
	default:
		return nil
	}
}
