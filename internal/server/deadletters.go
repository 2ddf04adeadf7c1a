package server

import (
	"cmp"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs/internal/webhook"
	"github.com/calldibs/dibs/internal/wire"
)

const (
	lettersPath = webhookPath + "/deadletters"
	letterPath  = lettersPath + "/{letter}"
)

func (s *Server) registerDeadLetters() {
	operation := func(method, path, id, summary string) huma.Operation {
		return s.operation(method, path, id, summary, tagWebhooks, http.StatusNotFound)
	}
	registerHook(s, operation(http.MethodGet, lettersPath, "listDeadLetters", "List the dead letters of a webhook"), s.listDeadLetters)
	registerHook(s, operation(http.MethodDelete, lettersPath, "removeDeadLetters", "Remove all dead letters of a webhook"), s.removeDeadLetters)
	registerHook(s, operation(http.MethodPost, lettersPath+"/resend", "resendDeadLetters", "Send dead letters again, until one fails or the request times out"), s.resendDeadLetters)
	registerHook(s, operation(http.MethodGet, letterPath, "getDeadLetter", "Show a dead letter with its event"), s.getDeadLetter)
	registerHook(s, operation(http.MethodDelete, letterPath, "removeDeadLetter", "Remove a dead letter"), s.removeDeadLetter)
	registerHook(s, operation(http.MethodPost, letterPath+"/resend", "resendDeadLetter", "Send a dead letter again, now"), s.resendDeadLetter)
}

type listDeadLettersInput struct {
	ByWebhook
	Limit  int    `query:"limit" minimum:"0" maximum:"1000" doc:"Default: 100."`
	Cursor string `query:"cursor"`
}

func (s *Server) listDeadLetters(ctx context.Context, hook *webhook.Hook, in *listDeadLettersInput) (page wire.DeadLetterPage, err error) {
	limit := cmp.Or(in.Limit, 100)
	letters, err := s.cfg.Webhooks.DeadLetters(ctx, in.ID, in.Cursor, limit)
	page.DeadLetters = []wire.DeadLetter{}
	for _, letter := range letters {
		if hook.Covers(letter) {
			page.DeadLetters = append(page.DeadLetters, letterOf(letter))
		}
	}
	if len(letters) == limit {
		page.NextCursor = letters[limit-1].ID
	}
	return page, err
}

type deadLetterInput struct {
	ByWebhook
	Letter string `path:"letter"`
}

func (s *Server) getDeadLetter(ctx context.Context, hook *webhook.Hook, in *deadLetterInput) (wire.DeadLetter, error) {
	letter, event, err := s.cfg.Webhooks.DeadLetter(ctx, hook, in.Letter)
	shown := letterOf(letter)
	if event != nil {
		e := wire.EventOf(*event)
		shown.Event = &e
	}
	return shown, err
}

func (s *Server) removeDeadLetter(ctx context.Context, hook *webhook.Hook, in *deadLetterInput) (wire.Removed, error) {
	if _, _, err := s.cfg.Webhooks.DeadLetter(ctx, hook, in.Letter); err != nil {
		return wire.Removed{}, err
	}
	return wire.Removed{Removed: 1}, s.cfg.Webhooks.RemoveDeadLetter(ctx, in.ID, in.Letter)
}

func (s *Server) removeDeadLetters(ctx context.Context, _ *webhook.Hook, in *ByWebhook) (wire.Removed, error) {
	n, err := s.cfg.Webhooks.RemoveDeadLetters(ctx, in.ID)
	return wire.Removed{Removed: n}, err
}

func (s *Server) resendDeadLetter(ctx context.Context, hook *webhook.Hook, in *deadLetterInput) (wire.WebhookAttempt, error) {
	attempt, err := s.cfg.Webhooks.Resend(ctx, hook, in.Letter)
	return attempt.Wire(), err
}

func (s *Server) resendDeadLetters(ctx context.Context, hook *webhook.Hook, _ *ByWebhook) (wire.DeadLettersResent, error) {
	return s.cfg.Webhooks.ResendAll(ctx, hook)
}
