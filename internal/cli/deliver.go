package cli

import (
	"context"
	"log/slog"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/config"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/internal/webhook"
)

// newWebhooks returns the webhooks of a registry, or nil if they are disabled.
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

// deliver sends events to webhooks until stop, which waits for deliveries in flight.
func (sv *service) deliver(ctx context.Context) (stop func()) {
	if sv.webhooks == nil {
		return func() {}
	}
	// Deliveries go on while the server drains.
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
