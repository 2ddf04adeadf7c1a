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
func newWebhooks(
	cfg config.Webhooks, registry *dibs.Registry, store dibs.Store, log *slog.Logger, metrics *server.Metrics,
) *webhook.Service {
	if !cfg.Enabled {
		return nil
	}
	cfg.Registry, cfg.Store, cfg.Logger, cfg.Observer = registry, store, log, metrics.WebhookObserver()
	return webhook.New(cfg.Config)
}

// deliver sends events to webhooks until stop, which waits for deliveries in flight.
func (sv *service) deliver(ctx context.Context) (stop func()) {
	if sv.webhooks == nil {
		return func() {}
	}
	// Deliveries go on while the server drains.
	end := background(context.WithoutCancel(ctx), sv.webhooks.Deliver)
	return func() {
		end()
		sv.webhooks.Close()
	}
}

// background runs work until stop, which waits for its end.
func background(ctx context.Context, work func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
