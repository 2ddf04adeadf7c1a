package server

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibscache"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/webhook"
)

// Metrics are the Prometheus metrics of one server. Give its Observer to the Registry.
type Metrics struct {
	registry *prometheus.Registry

	httpTotal, commands, conflicts, witnesses, denied, limited *prometheus.CounterVec
	commits, engineFails, sweepLooked, sweepChange             prometheus.Counter
	httpSeconds, seconds                                       *prometheus.HistogramVec
	batch, sweepTook, witnessTook, feedLag                     prometheus.Histogram
	contested                                                  contestedCounts
	queue, lastSweep, streams, inFlight, connections           prometheus.Gauge
	issuers                                                    *prometheus.GaugeVec

	webhooks *webhookMetrics
}

// fast are histogram buckets from tens of microseconds to seconds.
var fast = prometheus.ExponentialBuckets(0.00005, 2.5, 14)

// NewMetrics returns new metrics.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	auto := promauto.With(registry)
	m := &Metrics{
		registry:    registry,
		httpTotal:   auto.NewCounterVec(prometheus.CounterOpts{Name: "dibs_http_requests_total", Help: "Requests, by route and status."}, []string{"route", "status"}),
		httpSeconds: auto.NewHistogramVec(prometheus.HistogramOpts{Name: "dibs_http_request_seconds", Help: "How long requests took, by route.", Buckets: fast}, []string{"route"}),
		commands:    auto.NewCounterVec(prometheus.CounterOpts{Name: "dibs_commands_total", Help: "Commands, by verb and outcome: ok, or the error's code in lower case."}, []string{"verb", "outcome"}),
		conflicts:   auto.NewCounterVec(prometheus.CounterOpts{Name: "dibs_conflicts_total", Help: "Commands refused because a name is taken, by reason."}, []string{"reason"}),
		seconds:     auto.NewHistogramVec(prometheus.HistogramOpts{Name: "dibs_command_seconds", Help: "How long commands took from call to answer, by verb.", Buckets: fast}, []string{"verb"}),
		batch:       auto.NewHistogram(prometheus.HistogramOpts{Name: "dibs_batch_requests", Help: "Requests per batch.", Buckets: prometheus.ExponentialBuckets(1, 2, 11)}),
		commits:     auto.NewCounter(prometheus.CounterOpts{Name: "dibs_commits_total", Help: "Transactions of the engine."}),
		queue:       auto.NewGauge(prometheus.GaugeOpts{Name: "dibs_queue_depth", Help: "Requests queued behind the last batch."}),
		engineFails: auto.NewCounter(prometheus.CounterOpts{Name: "dibs_engine_failures_total", Help: "Batches that the engine failed."}),
		sweepLooked: auto.NewCounter(prometheus.CounterOpts{Name: "dibs_sweep_looked_total", Help: "Records that were due."}),
		sweepChange: auto.NewCounter(prometheus.CounterOpts{Name: "dibs_sweep_changed_total", Help: "Due records that were ended, given up, freed or purged."}),
		sweepTook:   auto.NewHistogram(prometheus.HistogramOpts{Name: "dibs_sweep_seconds", Help: "How long sweeps took.", Buckets: fast}),
		lastSweep:   auto.NewGauge(prometheus.GaugeOpts{Name: "dibs_last_sweep_timestamp_seconds", Help: "When the last sweep ended."}),
		witnesses:   auto.NewCounterVec(prometheus.CounterOpts{Name: "dibs_witness_calls_total", Help: "Calls to witnesses, by outcome: exists, absent, unknown, or failed."}, []string{"outcome"}),
		witnessTook: auto.NewHistogram(prometheus.HistogramOpts{Name: "dibs_witness_seconds", Help: "How long witnesses took to answer.", Buckets: fast}),
		feedLag:     auto.NewHistogram(prometheus.HistogramOpts{Name: "dibs_feed_lag_seconds", Help: "Time from a change to its event on a stream.", Buckets: fast}),
		streams:     auto.NewGauge(prometheus.GaugeOpts{Name: "dibs_feed_streams", Help: "Open event streams."}),
		denied:      auto.NewCounterVec(prometheus.CounterOpts{Name: "dibs_http_denied_total", Help: "Requests denied for lack of authentication or rights, by reason."}, []string{"reason"}),
		issuers:     auto.NewGaugeVec(prometheus.GaugeOpts{Name: "dibs_issuer_up", Help: "Whether a token issuer answered the last request."}, []string{"issuer"}),
		limited:     auto.NewCounterVec(prometheus.CounterOpts{Name: "dibs_requests_limited_total", Help: "Requests rejected by limits, by reason."}, []string{"reason"}),
		inFlight:    auto.NewGauge(prometheus.GaugeOpts{Name: "dibs_requests_in_flight", Help: "Requests in flight, without streams."}),
		connections: auto.NewGauge(prometheus.GaugeOpts{Name: "dibs_connections", Help: "Open connections."}),

		webhooks: newWebhookMetrics(registry),
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
	return m
}

// route counts the requests of one route. It keeps the metrics of the statuses that it has
// seen: to find one by its labels costs more than to count.
type route struct {
	name    string
	total   *prometheus.CounterVec
	seconds func() prometheus.Observer
	known   atomic.Pointer[map[int]prometheus.Counter] // by status; never changed, but replaced
}

func (m *Metrics) route(name string) *route {
	r := &route{name: name, total: m.httpTotal}
	r.seconds = sync.OnceValue(func() prometheus.Observer { return m.httpSeconds.WithLabelValues(name) })
	r.known.Store(&map[int]prometheus.Counter{})
	return r
}

func (r *route) count(status int, took time.Duration) {
	known := *r.known.Load()
	counter, ok := known[status]
	if !ok {
		counter = r.total.WithLabelValues(r.name, strconv.Itoa(status))
		known = maps.Clone(known) // a status that another request adds meanwhile is found again
		known[status] = counter
		r.known.Store(&known)
	}
	counter.Inc()
	r.seconds().Observe(took.Seconds())
}

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
	outcome := "ok"
	if refused, ok := errors.AsType[*dibs.Error](info.Err); ok {
		outcome = strings.ToLower(string(refused.Code))
		if refused.Code == dibs.CodeNameTaken {
			m.conflicts.WithLabelValues(string(refused.Reason)).Inc()
		}
		if !info.DryRun {
			m.contested.note(refused, time.Now())
		}
	} else if info.Err != nil {
		outcome = "error"
	}
	m.commands.WithLabelValues(verb, outcome).Inc()
	m.seconds.WithLabelValues(verb).Observe(info.Took.Seconds())
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

func newWebhookMetrics(registry *prometheus.Registry) *webhookMetrics {
	auto := promauto.With(registry)
	m := &webhookMetrics{
		deliveries: auto.NewCounterVec(prometheus.CounterOpts{Name: "dibs_webhook_deliveries_total", Help: "Attempts to deliver an event, by webhook and outcome: delivered or failed."}, []string{"webhook", "outcome"}),
		seconds:    auto.NewHistogramVec(prometheus.HistogramOpts{Name: "dibs_webhook_delivery_seconds", Help: "How long receivers took, by webhook.", Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 11)}, []string{"webhook"}),
		letters:    auto.NewCounterVec(prometheus.CounterOpts{Name: "dibs_webhook_dead_letters_total", Help: "Events given up, by webhook."}, []string{"webhook"}),
		waiting:    auto.NewGaugeVec(prometheus.GaugeOpts{Name: "dibs_webhook_waiting", Help: "Events read from the feed and not yet delivered, by webhook."}, []string{"webhook"}),
		oldest:     make(map[string]time.Time),
	}
	registry.MustRegister(gauges{[]*prometheus.Desc{webhookLag}, m.collectLags})
	return m
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

func (m *webhookMetrics) collectLags(set setGauge) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for hook, oldest := range m.oldest {
		lag := 0.0
		if !oldest.IsZero() {
			lag = max(time.Since(oldest).Seconds(), 0)
		}
		set(webhookLag, lag, hook)
	}
}

// lag returns the age of the oldest undelivered event of all webhooks.
func (m *webhookMetrics) lag() (longest time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, oldest := range m.oldest {
		if !oldest.IsZero() {
			longest = max(longest, time.Since(oldest))
		}
	}
	return longest
}

// gauges are gauges whose values are read at each scrape.
type gauges struct {
	descs   []*prometheus.Desc
	collect func(setGauge)
}

type setGauge func(d *prometheus.Desc, value float64, labels ...string)

// Describe sends the descriptions of the gauges.
func (g gauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range g.descs {
		out <- d
	}
}

// Collect sends the present values.
func (g gauges) Collect(out chan<- prometheus.Metric) {
	g.collect(func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	})
}

var (
	namesDesc    = prometheus.NewDesc("dibs_names", "Names by state (held, suspect, active, alias, quarantined), when they were last counted.", []string{"state"}, nil)
	suspectsDesc = prometheus.NewDesc("dibs_suspects_unsettled", "Lapsed holds that wait for a witness, when they were last counted.", nil, nil)
	endingDesc   = prometheus.NewDesc("dibs_holds_ending", "Holds that end within a minute, when they were last counted.", nil, nil)
	answersDesc  = prometheus.NewDesc("dibs_store_up", "Whether a store answers: 1, or 0.", []string{"store"}, nil)
	writableDesc = prometheus.NewDesc("dibs_store_writable", "Whether a store can be written to: 1, or 0.", []string{"store"}, nil)
)

// observe adds the metrics of a server's parts. The parts of a second server with the same metrics
// are left out.
func (m *Metrics) observe(s *Server) {
	parts := []prometheus.Collector{gauges{[]*prometheus.Desc{namesDesc, endingDesc, suspectsDesc}, s.stats.collect}}
	if s.cfg.Health != nil {
		parts = append(parts, gauges{[]*prometheus.Desc{answersDesc, writableDesc}, s.collectStores})
	}
	if s.cfg.Cache != nil {
		parts = append(parts, cacheMetrics(s.cfg.Cache)...)
	}
	for _, part := range parts {
		_ = m.registry.Register(part)
	}
}

// collect exports the last counts of names, if there are any. It starts a new count if one is due,
// and does not wait for it.
func (s *stats) collect(set setGauge) {
	counts, taken, _ := s.latest()
	if taken.IsZero() {
		return
	}
	byState := map[dibs.State]int{dibs.Held: 0, dibs.Suspect: 0, dibs.Active: 0, dibs.Alias: 0, dibs.Quarantined: 0}
	for _, n := range counts.Names {
		byState[n.State] += n.Count
	}
	for state, n := range byState {
		set(namesDesc, float64(n), string(state))
	}
	set(endingDesc, float64(counts.EndingSoon))
	set(suspectsDesc, float64(byState[dibs.Suspect]))
}

// collectStores exports the known states of the stores. It does not wait for a probe.
func (s *Server) collectStores(set setGauge) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	for _, state := range s.cfg.Health.States(now) {
		set(answersDesc, oneIf(state.Reads), storeLabel(state))
		set(writableDesc, oneIf(state.Writes), storeLabel(state))
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func cacheMetrics(cache *dibscache.Cache) []prometheus.Collector {
	counter := func(name, help string, value func(dibscache.Stats) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(value(cache.Stats())) })
	}
	gauge := func(name, help string, value func(dibscache.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(cache.Stats()) })
	}
	return []prometheus.Collector{
		counter("dibs_cache_hits_total", "Answers from memory.", func(s dibscache.Stats) uint64 { return s.Hits }),
		counter("dibs_cache_misses_total", "Answers from the engine.", func(s dibscache.Stats) uint64 { return s.Misses }),
		gauge("dibs_cache_bytes", "Approximate memory of the answers.", func(s dibscache.Stats) float64 { return float64(s.Bytes) }),
		gauge("dibs_cache_lag_seconds", "Time since the cache last read the feed to its end; beyond maxStale it answers nothing from memory.", func(s dibscache.Stats) float64 { return s.Lag.Seconds() }),
	}
}
