package server

import (
	"context"
	"net/http"

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
)

func (s *Server) registerWebhooks() {
	operation := func(method, path, id, summary string, errors ...int) huma.Operation {
		return s.operation(method, path, id, summary, tagWebhooks, errors...)
	}
	create := operation(http.MethodPost, webhooksPath, "createWebhook", "Have events sent to a URL", 201, 422)
	create.Metadata = map[string]any{alwaysNew: true}
	register(s, create, s.createWebhook)
	register(s, operation(http.MethodGet, webhooksPath, "listWebhooks", "List webhooks"), s.listWebhooks)
	registerHook(s, operation(http.MethodGet, webhookPath, "getWebhook", "Show a webhook and its status", 404), s.getWebhook)
	registerHook(s, operation(http.MethodPatch, webhookPath, "changeWebhook", "Change a webhook", 404, 422), s.changeWebhook)
	registerHook(s, operation(http.MethodDelete, webhookPath, "removeWebhook", "Remove a webhook with its dead letters", 404), s.removeWebhook)
	registerHook(s, operation(http.MethodPost, webhookPath+"/rotate", "rotateWebhook", "Give a webhook a new secret", 404, 422), s.rotateWebhook)
	registerHook(s, operation(http.MethodPost, webhookPath+"/test", "testWebhook", "Send a test event", 404), s.testWebhook)
	s.registerDeadLetters()
}

// ByWebhook is a webhook in a path.
type ByWebhook struct {
	ID string `path:"id"`
}

func (w ByWebhook) webhookID() string { return w.ID }

// registerHook adds a call about one webhook.
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

// mayHook reports whether a caller has the rights to webhooks and to events in all namespaces of
// a webhook.
func mayHook(caller access.Caller, hook *webhook.Hook) bool {
	for _, pattern := range hook.Namespaces {
		if !caller.MayPattern(access.Webhooks, pattern) || !caller.MayPattern(access.Events, pattern) {
			return false
		}
	}
	return true
}

// maySendFrom refuses patterns of namespaces in which the caller lacks one of the two rights.
func (s *Server) maySendFrom(ctx context.Context, patterns []string) error {
	for _, pattern := range patterns {
		for _, verb := range []access.Verb{access.Webhooks, access.Events} {
			if !callerOf(ctx).MayPattern(verb, pattern) {
				return s.forbidden(verb, "in "+pattern)
			}
		}
	}
	return nil
}

type createWebhookInput struct {
	Body wire.WebhookRequest
}

func (s *Server) createWebhook(ctx context.Context, in *createWebhookInput) (*answer[wire.Webhook], error) {
	if err := s.mayHaveWebhooks(ctx); err != nil {
		return nil, err
	}
	caller, body := callerOf(ctx), in.Body
	hook := webhook.Hook{
		URL: body.URL, Description: body.Description, Namespaces: body.Namespaces, Kinds: eventKinds(body.Kinds),
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

func eventKinds(texts []string) []dibs.EventKind {
	var kinds []dibs.EventKind
	for _, text := range texts {
		kinds = append(kinds, dibs.EventKind(text))
	}
	return kinds
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
			hook.Kinds = eventKinds(*change.Kinds)
		}
		return nil
	})
	if err != nil {
		return wire.Webhook{}, err
	}
	return webhookOf(changed), nil
}

// set sets a field if there is a value.
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
