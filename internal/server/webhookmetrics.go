package server

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/calldibs/dibs/internal/webhook"
)

// webhookMetrics counts deliveries by webhook. There are at most a hundred webhooks.
type webhookMetrics struct {
	deliveries *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
	letters    *prometheus.CounterVec
	waiting    *prometheus.GaugeVec

	mu     sync.Mutex
	oldest map[string]time.Time // the oldest pending event of each webhook that this server delivers for
}

var _ webhook.Observer = (*webhookMetrics)(nil)

func newWebhookMetrics() *webhookMetrics {
	return &webhookMetrics{
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dibs_webhook_deliveries_total", Help: "Attempts to deliver an event, by webhook and outcome: delivered or failed."}, []string{"webhook", "outcome"}),
		seconds:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "dibs_webhook_delivery_seconds", Help: "How long receivers took, by webhook.", Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 11)}, []string{"webhook"}),
		letters:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dibs_webhook_dead_letters_total", Help: "Events given up, by webhook."}, []string{"webhook"}),
		waiting:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "dibs_webhook_waiting", Help: "Events read from the feed and not yet delivered, by webhook."}, []string{"webhook"}),
		oldest:     make(map[string]time.Time),
	}
}

// WebhookObserver returns an observer that counts deliveries.
func (m *Metrics) WebhookObserver() webhook.Observer { return m.webhooks }

// Sent counts an attempt.
func (m *webhookMetrics) Sent(hook string, a webhook.Attempt) {
	outcome := "delivered"
	if !a.Delivered() {
		outcome = "failed"
	}
	m.deliveries.WithLabelValues(hook, outcome).Inc()
	m.seconds.WithLabelValues(hook).Observe(a.Took.Seconds())
}

// GaveUp counts a dead letter.
func (m *webhookMetrics) GaveUp(hook string) { m.letters.WithLabelValues(hook).Inc() }

// Backlog sets how many events of a webhook wait, and since when.
func (m *webhookMetrics) Backlog(hook string, waiting int, oldest time.Time) {
	m.waiting.WithLabelValues(hook).Set(float64(waiting))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.oldest[hook] = oldest
}

// Stopped removes the backlog of a webhook: another server delivers for it now.
func (m *webhookMetrics) Stopped(hook string) {
	m.waiting.DeleteLabelValues(hook)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.oldest, hook)
}

// Removed removes all metrics of a webhook that was removed: the number of removed webhooks has
// no bound.
func (m *webhookMetrics) Removed(hook string) {
	m.Stopped(hook)
	labels := prometheus.Labels{"webhook": hook}
	m.deliveries.DeletePartialMatch(labels)
	m.seconds.DeletePartialMatch(labels)
	m.letters.DeletePartialMatch(labels)
}

var webhookLag = prometheus.NewDesc("dibs_webhook_lag_seconds",
	"Age of the oldest undelivered event, by webhook; on the server that delivers.", []string{"webhook"}, nil)

// Describe sends the descriptions of the metrics.
func (m *webhookMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range m.parts() {
		c.Describe(out)
	}
	out <- webhookLag
}

// Collect sends the present values.
func (m *webhookMetrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.parts() {
		c.Collect(out)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for hook, oldest := range m.oldest {
		lag := 0.0
		if !oldest.IsZero() {
			lag = max(time.Since(oldest).Seconds(), 0)
		}
		out <- prometheus.MustNewConstMetric(webhookLag, prometheus.GaugeValue, lag, hook)
	}
}

func (m *webhookMetrics) parts() []prometheus.Collector {
	return []prometheus.Collector{m.deliveries, m.seconds, m.letters, m.waiting}
}
