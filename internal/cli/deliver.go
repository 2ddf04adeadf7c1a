package cli

import (
	"context"
	"log/slog"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/config"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/internal/webhook"
)

// newWebhooks returns the webhooks of a registry, or nil where there are to be none.
func newWebhooks(cfg config.Webhooks, registry *dibs.Registry, store dibs.Store, log *slog.Logger, metrics *server.Metrics) *webhook.Service {
	if !cfg.Enabled {
		return nil
	}
	return webhook.New(webhook.Config{
		Registry: registry, Store: store, Timeout: cfg.Timeout, Pauses: cfg.Pauses, GiveUpAfter: cfg.GiveUpAfter,
		Concurrency: cfg.Concurrency, AllowPrefixes: cfg.AllowPrefixes, Source: cfg.Source,
		Logger: log, Observer: metrics.WebhookObserver(),
	})
}

// deliver sends events to webhooks until it is stopped, and waits for what is under way.
func (sv *service) deliver(ctx context.Context) (stop func()) {
	if sv.webhooks == nil {
		return func() {}
	}
	// Not when the server is told to end, but when it has answered what was under way.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		webhook.NewDispatcher(sv.webhooks).Run(ctx)
	}()
	return func() {
		cancel()
		<-done
		sv.webhooks.Close()
	}
}
