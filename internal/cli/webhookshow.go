package cli

import (
	"fmt"
	"time"

	"github.com/calldibs/dibs/internal/wire"
)

func enabledText(h wire.Webhook) string {
	switch {
	case h.Enabled:
		return "yes"
	case h.Stopped != "":
		return "no: " + h.Stopped
	default:
		return "no"
	}
}

// shortDate formats a time of the API.
func shortDate(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return date(t)
}

func showWebhook(p *printer, h wire.Webhook) {
	p.fields(
		[2]string{"webhook", h.ID},
		[2]string{"url", h.URL},
		[2]string{"description", h.Description},
		[2]string{"namespaces", join(h.Namespaces)},
		[2]string{"kinds", join(h.Kinds)},
		[2]string{"enabled", enabledText(h)},
		[2]string{"created", shortDate(h.CreatedAt)},
		[2]string{"by", h.CreatedBy},
	)
	s := h.Status
	if s == nil {
		return
	}
	behind := fmt.Sprint(s.Behind)
	if s.More {
		behind += " or more"
	}
	p.line("")
	p.fields(
		[2]string{"delivered", fmt.Sprint(s.Delivered)},
		[2]string{"failures", fmt.Sprint(s.Failed)},
		[2]string{"not yet delivered", behind},
		[2]string{"oldest", shortDate(s.OldestAt)},
		[2]string{"waiting", fmt.Sprint(s.Waiting)},
		[2]string{"paused until", shortDate(s.PausedUntil)},
		[2]string{"dead letters", fmt.Sprint(s.DeadLetters)},
		[2]string{"last success", shortDate(s.LastSuccess)},
		[2]string{"last failure", shortDate(s.LastFailure)},
		[2]string{"last error", s.LastError},
	)
	if s.Dropped > 0 {
		p.line("")
		p.line("%s dropped, because there were too many", count(s.Dropped, "dead letter", "dead letters"))
	}
}

func showLetter(p *printer, l wire.DeadLetter) {
	key := "no longer in the feed"
	if l.Event != nil {
		key = l.Event.Key
		if e := l.Event.Entity; key == "" && e != nil {
			key = e.Type + "/" + e.ID
		}
	}
	p.fields(
		[2]string{"letter", l.ID},
		[2]string{"event", l.Kind},
		[2]string{"about", key},
		[2]string{"where", l.Where},
		[2]string{"id", l.ReservationID},
		[2]string{"at", shortDate(l.EventAt)},
		[2]string{"given up", shortDate(l.DeadAt)},
		[2]string{"attempts", fmt.Sprint(l.Attempts)},
		[2]string{"last error", l.LastError},
	)
}

func attemptText(a wire.WebhookAttempt) string {
	if a.Delivered {
		return fmt.Sprintf("delivered: the receiver answered %d after %d ms", a.Status, a.TookMs)
	}
	return "not delivered: " + a.Error
}
