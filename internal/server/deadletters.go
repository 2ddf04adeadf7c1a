package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

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
	huma.Register(s.api, operation(http.MethodGet, lettersPath, "listDeadLetters", "List the dead letters of a webhook"), s.listDeadLetters)
	huma.Register(s.api, operation(http.MethodDelete, lettersPath, "removeDeadLetters", "Remove all dead letters of a webhook"), s.removeDeadLetters)
	huma.Register(s.api, operation(http.MethodPost, lettersPath+"/resend", "resendDeadLetters", "Send dead letters again, until one fails or the request times out"), s.resendDeadLetters)
	huma.Register(s.api, operation(http.MethodGet, letterPath, "getDeadLetter", "Show a dead letter with its event"), s.getDeadLetter)
	huma.Register(s.api, operation(http.MethodDelete, letterPath, "removeDeadLetter", "Remove a dead letter"), s.removeDeadLetter)
	huma.Register(s.api, operation(http.MethodPost, letterPath+"/resend", "resendDeadLetter", "Send a dead letter again, now"), s.resendDeadLetter)
}

type listDeadLettersInput struct {
	ID     string `path:"id"`
	Limit  int    `query:"limit" minimum:"0" maximum:"1000" doc:"Default: 100."`
	Cursor string `query:"cursor"`
}

func (s *Server) listDeadLetters(ctx context.Context, in *listDeadLettersInput) (*answer[wire.DeadLetterPage], error) {
	hook, err := s.hookFor(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	limit := in.Limit
	if limit == 0 {
		limit = 100
	}
	letters, err := s.cfg.Webhooks.DeadLetters(ctx, in.ID, in.Cursor, limit)
	if err != nil {
		return nil, s.webhookProblem(err)
	}
	page := wire.DeadLetterPage{DeadLetters: []wire.DeadLetter{}}
	for _, letter := range letters {
		if hook.Covers(letter) {
			page.DeadLetters = append(page.DeadLetters, letterOf(letter))
		}
	}
	if len(letters) == limit {
		page.NextCursor = letters[limit-1].ID
	}
	return ok(page), nil
}

type deadLetterInput struct {
	ID     string `path:"id"`
	Letter string `path:"letter"`
}

func (s *Server) getDeadLetter(ctx context.Context, in *deadLetterInput) (*answer[wire.DeadLetter], error) {
	hook, err := s.hookFor(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	letter, event, err := s.cfg.Webhooks.DeadLetter(ctx, hook, in.Letter)
	if err != nil {
		return nil, s.webhookProblem(err)
	}
	shown := letterOf(letter)
	if event != nil {
		e := wire.EventOf(*event)
		shown.Event = &e
	}
	return ok(shown), nil
}

func (s *Server) removeDeadLetter(ctx context.Context, in *deadLetterInput) (*answer[wire.Removed], error) {
	hook, err := s.hookFor(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if _, _, err := s.cfg.Webhooks.DeadLetter(ctx, hook, in.Letter); err != nil {
		return nil, s.webhookProblem(err)
	}
	if err := s.cfg.Webhooks.RemoveDeadLetter(ctx, in.ID, in.Letter); err != nil {
		return nil, s.webhookProblem(err)
	}
	return ok(wire.Removed{Removed: 1}), nil
}

func (s *Server) removeDeadLetters(ctx context.Context, in *webhookInput) (*answer[wire.Removed], error) {
	if _, err := s.hookFor(ctx, in.ID); err != nil {
		return nil, err
	}
	n, err := s.cfg.Webhooks.RemoveDeadLetters(ctx, in.ID)
	if err != nil {
		return nil, s.webhookProblem(err)
	}
	return ok(wire.Removed{Removed: n}), nil
}

func (s *Server) resendDeadLetter(ctx context.Context, in *deadLetterInput) (*answer[wire.WebhookAttempt], error) {
	hook, err := s.hookFor(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	attempt, err := s.cfg.Webhooks.Resend(ctx, hook, in.Letter)
	if err != nil {
		return nil, s.webhookProblem(err)
	}
	return ok(deliveryOf(attempt)), nil
}

func (s *Server) resendDeadLetters(ctx context.Context, in *webhookInput) (*answer[wire.DeadLettersResent], error) {
	hook, err := s.hookFor(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	resent, err := s.cfg.Webhooks.ResendAll(ctx, hook)
	if err != nil {
		return nil, s.webhookProblem(err)
	}
	shown := wire.DeadLettersResent{Delivered: resent.Delivered, Purged: resent.Purged, Left: resent.Left}
	if resent.Failed != nil {
		failed := deliveryOf(*resent.Failed)
		shown.Failed = &failed
	}
	return ok(shown), nil
}
