package server

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
)

// Metrics are the Prometheus metrics of one server. Give its Observer to the Registry.
type Metrics struct {
	registry *prometheus.Registry

	httpTotal, commands, conflicts, witnesses, denied, limited *prometheus.CounterVec
	commits, engineFails, sweepLooked, sweepChange             prometheus.Counter
	httpSeconds, seconds                                       *prometheus.HistogramVec
	batch, sweepTook, witnessTook, feedLag                     prometheus.Histogram
	queue, lastSweep, streams, inFlight, connections           prometheus.Gauge
	issuers                                                    *prometheus.GaugeVec

	webhooks *webhookMetrics
}

// fast are histogram buckets from tens of microseconds to seconds.
var fast = prometheus.ExponentialBuckets(0.00005, 2.5, 14)

// NewMetrics returns new metrics.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry:    prometheus.NewRegistry(),
		httpTotal:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dibs_http_requests_total", Help: "Requests, by route and status."}, []string{"route", "status"}),
		httpSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "dibs_http_request_seconds", Help: "How long requests took, by route.", Buckets: fast}, []string{"route"}),
		commands:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dibs_commands_total", Help: "Commands, by verb and outcome: ok, or the error's code in lower case."}, []string{"verb", "outcome"}),
		conflicts:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dibs_conflicts_total", Help: "Commands refused because a name is taken, by reason."}, []string{"reason"}),
		seconds:     prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "dibs_command_seconds", Help: "How long commands took from call to answer, by verb.", Buckets: fast}, []string{"verb"}),
		batch:       prometheus.NewHistogram(prometheus.HistogramOpts{Name: "dibs_batch_requests", Help: "Requests per batch.", Buckets: prometheus.ExponentialBuckets(1, 2, 11)}),
		commits:     prometheus.NewCounter(prometheus.CounterOpts{Name: "dibs_commits_total", Help: "Transactions of the engine."}),
		queue:       prometheus.NewGauge(prometheus.GaugeOpts{Name: "dibs_queue_depth", Help: "Requests queued behind the last batch."}),
		engineFails: prometheus.NewCounter(prometheus.CounterOpts{Name: "dibs_engine_failures_total", Help: "Batches that the engine failed."}),
		sweepLooked: prometheus.NewCounter(prometheus.CounterOpts{Name: "dibs_sweep_looked_total", Help: "Records that were due."}),
		sweepChange: prometheus.NewCounter(prometheus.CounterOpts{Name: "dibs_sweep_changed_total", Help: "Due records that were ended, given up, freed or purged."}),
		sweepTook:   prometheus.NewHistogram(prometheus.HistogramOpts{Name: "dibs_sweep_seconds", Help: "How long sweeps took.", Buckets: fast}),
		lastSweep:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "dibs_last_sweep_timestamp_seconds", Help: "When the last sweep ended."}),
		witnesses:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dibs_witness_calls_total", Help: "Calls to witnesses, by outcome: exists, absent, unknown, or failed."}, []string{"outcome"}),
		witnessTook: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "dibs_witness_seconds", Help: "How long witnesses took to answer.", Buckets: fast}),
		feedLag:     prometheus.NewHistogram(prometheus.HistogramOpts{Name: "dibs_feed_lag_seconds", Help: "Time from a change to its event on a stream.", Buckets: fast}),
		streams:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "dibs_feed_streams", Help: "Open event streams."}),
		denied:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dibs_http_denied_total", Help: "Requests denied for lack of authentication or rights, by reason."}, []string{"reason"}),
		issuers:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "dibs_issuer_up", Help: "Whether a token issuer answered the last request."}, []string{"issuer"}),
		limited:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dibs_requests_limited_total", Help: "Requests rejected by limits, by reason."}, []string{"reason"}),
		inFlight:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "dibs_requests_in_flight", Help: "Requests in flight, without streams."}),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{Name: "dibs_connections", Help: "Open connections."}),

		webhooks: newWebhookMetrics(),
	}
	for _, reason := range access.Reasons() {
		m.denied.WithLabelValues(string(reason)) // export 0 before the first
	}
	for _, outcome := range []string{"exists", "absent", "unknown", "failed"} {
		m.witnesses.WithLabelValues(outcome)
	}
	for _, reason := range limitReasons() {
		m.limited.WithLabelValues(string(reason))
	}
	m.registry.MustRegister(
		m.limited, m.inFlight, m.connections,
		m.httpTotal, m.httpSeconds, m.commands, m.conflicts, m.seconds, m.batch, m.commits, m.queue, m.engineFails, m.sweepLooked, m.sweepChange,
		m.sweepTook, m.lastSweep, m.witnesses, m.witnessTook, m.feedLag, m.streams, m.denied, m.issuers, m.webhooks,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

func (m *Metrics) requests(route string, status int, took time.Duration) {
	m.httpTotal.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.httpSeconds.WithLabelValues(route).Observe(took.Seconds())
}

// deny counts a denied request.
func (m *Metrics) deny(reason access.Reason) { m.denied.WithLabelValues(string(reason)).Inc() }

// ForgetIssuers removes all issuers: others are trusted from now on.
func (m *Metrics) ForgetIssuers() { m.issuers.Reset() }

// Issuer sets whether a token issuer answers.
func (m *Metrics) Issuer(issuer string, up bool) { m.issuers.WithLabelValues(issuer).Set(oneIf(up)) }

// Observer returns an observer that counts what a Registry does.
func (m *Metrics) Observer() dibs.Observer {
	return dibs.Observer{Command: m.command, Batch: m.batched, Sweep: m.swept, Witness: m.witness}
}

func (m *Metrics) command(info dibs.CommandInfo) {
	verb := "apply"
	if len(info.Commands) == 1 && info.Commands[0] != nil {
		verb = strings.ToLower(info.Commands[0].Op())
	}
	if info.DryRun {
		verb = "dry_run"
	}
	m.commands.WithLabelValues(verb, outcomeOf(info.Err)).Inc()
	var refused *dibs.Error
	if errors.As(info.Err, &refused) && refused.Code == dibs.CodeNameTaken {
		m.conflicts.WithLabelValues(string(refused.Reason)).Inc()
	}
	m.seconds.WithLabelValues(verb).Observe(info.Took.Seconds())
}

func outcomeOf(err error) string {
	var refused *dibs.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &refused):
		return strings.ToLower(string(refused.Code))
	default:
		return "error"
	}
}

func (m *Metrics) batched(info dibs.BatchInfo) {
	m.batch.Observe(float64(info.Requests))
	m.commits.Add(float64(info.Commits))
	m.queue.Set(float64(info.Queued))
	if info.Err != nil {
		m.engineFails.Inc()
	}
}

func (m *Metrics) swept(report dibs.SweepReport) {
	m.sweepLooked.Add(float64(report.Looked))
	m.sweepChange.Add(float64(report.Changed))
	m.sweepTook.Observe(report.Took.Seconds())
	m.lastSweep.SetToCurrentTime()
}

func (m *Metrics) witness(info dibs.WitnessInfo) {
	outcome, _ := info.Verdict.Outcome()
	if info.Err != nil {
		outcome = "failed"
	}
	m.witnesses.WithLabelValues(outcome).Inc()
	m.witnessTook.Observe(info.Took.Seconds())
}

// Registerer registers metrics of other packages.
func (m *Metrics) Registerer() prometheus.Registerer { return m.registry }

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}
