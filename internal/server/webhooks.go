package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/webhook"
	"github.com/calldibs/dibs/internal/wire"
)

const (
	tagWebhooks  = "Webhooks"
	webhooksPath = "/v1/webhooks"
	webhookPath  = webhooksPath + "/{id}"
	lettersPath  = webhookPath + "/deadletters"
	letterPath   = lettersPath + "/{letter}"
)

func (s *Server) registerWebhooks() {
	operation := func(method, path, id, summary string, errors ...int) huma.Operation {
		return s.operation(method, path, id, summary, tagWebhooks, errors...)
	}
	create := operation(http.MethodPost, webhooksPath, "createWebhook", "Have events sent to a URL\nEach event arrives at least once, signed, and those of one name in order. The answer has the secret, which is shown only once.", 201, 422)
	create.Metadata = map[string]any{alwaysNew: true}
	register(s, create, s.createWebhook)
	register(s, operation(http.MethodGet, webhooksPath, "listWebhooks", "List webhooks"), s.listWebhooks)
	registerHook(s, operation(http.MethodGet, webhookPath, "getWebhook", "Show a webhook and its status", 404), s.getWebhook)
	registerHook(s, operation(http.MethodPatch, webhookPath, "changeWebhook", "Change a webhook", 404, 422), s.changeWebhook)
	registerHook(s, operation(http.MethodDelete, webhookPath, "removeWebhook", "Remove a webhook with its dead letters", 404), s.removeWebhook)
	registerHook(s, operation(http.MethodPost, webhookPath+"/rotate", "rotateWebhook", "Give a webhook a new secret\nFor a while deliveries have two signatures, so that the receiver has time to change.", 404, 422), s.rotateWebhook)
	registerHook(s, operation(http.MethodPost, webhookPath+"/test", "testWebhook", "Send a test event", 404), s.testWebhook)
	registerHook(s, operation(http.MethodGet, lettersPath, "listDeadLetters", "List the dead letters of a webhook", 404), s.listDeadLetters)
	registerHook(s, operation(http.MethodDelete, lettersPath, "removeDeadLetters", "Remove all dead letters of a webhook", 404), s.removeDeadLetters)
	registerHook(s, operation(http.MethodPost, lettersPath+"/resend", "resendDeadLetters", "Send dead letters again, until one fails or the request times out", 404), s.resendDeadLetters)
	registerHook(s, operation(http.MethodGet, letterPath, "getDeadLetter", "Show a dead letter with its event", 404), s.getDeadLetter)
	registerHook(s, operation(http.MethodDelete, letterPath, "removeDeadLetter", "Remove a dead letter", 404), s.removeDeadLetter)
	registerHook(s, operation(http.MethodPost, letterPath+"/resend", "resendDeadLetter", "Send a dead letter again, now", 404), s.resendDeadLetter)
}

// ByWebhook is a webhook in a path.
type ByWebhook struct {
	ID string `path:"id"`
}

func (w ByWebhook) webhookID() string { return w.ID }

func registerHook[I interface{ webhookID() string }, O any](
	s *Server, op huma.Operation, handle func(context.Context, *webhook.Hook, *I) (O, error),
) {
	register(s, op, func(ctx context.Context, in *I) (*answer[O], error) {
		hook, err := s.hookFor(ctx, (*in).webhookID())
		if err != nil {
			return nil, err
		}
		body, err := handle(ctx, hook, in)
		return ok(body), err
	})
}

// hookFor returns a webhook that the caller has the rights to. Any other webhook does not exist
// for the caller.
func (s *Server) hookFor(ctx context.Context, id string) (*webhook.Hook, error) {
	if err := s.mayHaveWebhooks(ctx); err != nil {
		return nil, err
	}
	hook, err := s.cfg.Webhooks.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if !mayHook(callerOf(ctx), hook) {
		s.cfg.Metrics.deny(access.Hidden)
		return nil, webhook.ErrNotFound
	}
	return hook, nil
}

// mayHaveWebhooks refuses callers without the right to webhooks in any namespace.
func (s *Server) mayHaveWebhooks(ctx context.Context) error {
	switch {
	case !callerOf(ctx).MaySomewhere(access.Webhooks):
		return s.forbidden(access.Webhooks, "in any namespace")
	case s.cfg.Webhooks == nil:
		return newProblem(http.StatusForbidden, "NO_WEBHOOKS", "webhooks are disabled on this server: its configuration has enabled = false in [webhooks]")
	default:
		return nil
	}
}

// lackedIn returns the first right that a caller lacks to send events from namespaces, and the
// pattern for which it does; empty if the caller has both rights in all of them.
func lackedIn(patterns []string, caller access.Caller) (verb access.Verb, pattern string) {
	for _, pattern := range patterns {
		for _, verb := range []access.Verb{access.Webhooks, access.Events} {
			if !caller.MayPattern(verb, pattern) {
				return verb, pattern
			}
		}
	}
	return "", ""
}

func mayHook(caller access.Caller, hook *webhook.Hook) bool {
	verb, _ := lackedIn(hook.Namespaces, caller)
	return verb == ""
}

// maySendFrom refuses patterns of namespaces in which the caller lacks one of the two rights.
func (s *Server) maySendFrom(ctx context.Context, patterns []string) error {
	if verb, pattern := lackedIn(patterns, callerOf(ctx)); verb != "" {
		return s.forbidden(verb, "in "+pattern)
	}
	return nil
}

func (s *Server) createWebhook(ctx context.Context, in *struct{ Body wire.WebhookRequest }) (*answer[wire.Webhook], error) {
	if err := s.mayHaveWebhooks(ctx); err != nil {
		return nil, err
	}
	caller, body := callerOf(ctx), in.Body
	hook := webhook.Hook{
		URL: body.URL, Description: body.Description, Namespaces: body.Namespaces, Kinds: kindsAs[dibs.EventKind](body.Kinds),
		Enabled: body.Enabled == nil || *body.Enabled, CreatedBy: caller.Name,
	}
	if hook.Namespaces == nil {
		if hook.Namespaces = caller.Patterns(access.Webhooks, access.Events); hook.Namespaces == nil {
			return nil, s.forbidden(access.Events, "where it has the right webhooks")
		}
	}
	if err := s.maySendFrom(ctx, hook.Namespaces); err != nil {
		return nil, err
	}
	made, secret, err := s.cfg.Webhooks.Create(ctx, hook, body.From)
	if err != nil {
		return nil, err
	}
	shown := webhookOf(made)
	shown.Secret = secret
	return &answer[wire.Webhook]{http.StatusCreated, shown}, nil
}

// kindsAs converts a list of kinds of event. No kinds are nil: that means all.
func kindsAs[To, From ~string](kinds []From) (converted []To) {
	for _, kind := range kinds {
		converted = append(converted, To(kind))
	}
	return converted
}

func (s *Server) listWebhooks(ctx context.Context, _ *struct{}) (*answer[wire.WebhookList], error) {
	if err := s.mayHaveWebhooks(ctx); err != nil {
		return nil, err
	}
	hooks, err := s.cfg.Webhooks.List(ctx)
	if err != nil {
		return nil, err
	}
	list := wire.WebhookList{Webhooks: []wire.Webhook{}}
	for _, hook := range hooks {
		if mayHook(callerOf(ctx), hook) {
			list.Webhooks = append(list.Webhooks, webhookOf(hook))
		}
	}
	return ok(list), nil
}

func (s *Server) getWebhook(ctx context.Context, hook *webhook.Hook, _ *ByWebhook) (wire.Webhook, error) {
	shown := webhookOf(hook)
	var err error
	shown.Status, err = s.cfg.Webhooks.Status(ctx, hook)
	return shown, err
}

type changeWebhookInput struct {
	ByWebhook
	Body wire.WebhookChange
}

func (s *Server) changeWebhook(ctx context.Context, _ *webhook.Hook, in *changeWebhookInput) (wire.Webhook, error) {
	change := in.Body
	if change.Namespaces != nil {
		if err := s.maySendFrom(ctx, *change.Namespaces); err != nil {
			return wire.Webhook{}, err
		}
	}
	caller := callerOf(ctx)
	changed, err := s.cfg.Webhooks.Change(ctx, in.ID, func(hook *webhook.Hook) error {
		if !mayHook(caller, hook) { // it was changed meanwhile
			return webhook.ErrNotFound
		}
		set(&hook.URL, change.URL)
		set(&hook.Description, change.Description)
		set(&hook.Namespaces, change.Namespaces)
		if set(&hook.Enabled, change.Enabled); change.Enabled != nil && *change.Enabled {
			hook.Enable()
		}
		if change.Kinds != nil {
			hook.Kinds = kindsAs[dibs.EventKind](*change.Kinds)
		}
		return nil
	})
	if err != nil {
		return wire.Webhook{}, err
	}
	return webhookOf(changed), nil
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

func (s *Server) removeWebhook(ctx context.Context, _ *webhook.Hook, in *ByWebhook) (wire.Removed, error) {
	return wire.Removed{Removed: 1}, s.cfg.Webhooks.Remove(ctx, in.ID)
}

type rotateWebhookInput struct {
	ByWebhook
	Body wire.WebhookRotation
}

func (s *Server) rotateWebhook(ctx context.Context, _ *webhook.Hook, in *rotateWebhookInput) (wire.Webhook, error) {
	grace := webhook.DefaultGrace
	if in.Body.GraceMs != nil {
		grace = wire.Duration(*in.Body.GraceMs)
	}
	hook, secret, err := s.cfg.Webhooks.Rotate(ctx, in.ID, grace)
	if err != nil {
		return wire.Webhook{}, err
	}
	shown := webhookOf(hook)
	shown.Secret = secret
	return shown, nil
}

func (s *Server) testWebhook(ctx context.Context, hook *webhook.Hook, _ *ByWebhook) (wire.WebhookAttempt, error) {
	attempt, err := s.cfg.Webhooks.Ping(ctx, hook)
	return attempt.Wire(), err
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

// webhookOf converts a webhook, without its secrets.
func webhookOf(hook *webhook.Hook) wire.Webhook {
	return wire.Webhook{
		ID: hook.ID, URL: hook.URL, Description: hook.Description, Namespaces: hook.Namespaces, Kinds: kindsAs[string](hook.Kinds),
		Enabled: hook.Enabled, Stopped: hook.Stopped, CreatedBy: hook.CreatedBy, DeclaredIn: hook.DeclaredIn, CreatedAt: wire.FormatTime(hook.CreatedAt.Time()),
	}
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
	case errors.Is(err, webhook.ErrDeclared):
		return newProblem(http.StatusForbidden, "WEBHOOK_DECLARED", text)
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
