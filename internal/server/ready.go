package server

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/health"
)

// pingTimeout is how long the engine may take to answer a ping.
const pingTimeout = 2 * time.Second

// status is the body of /healthz and /readyz.
type status struct {
	Status string        `json:"status"`
	Stores []storeStatus `json:"stores,omitempty"` // those that are not writable
}

type storeStatus struct {
	Store  string     `json:"store"`
	Reads  bool       `json:"reads"`
	Writes bool       `json:"writes"`
	Cause  dibs.Cause `json:"cause,omitempty"`
}

// ready answers /readyz: 200 if the engine answers and is writable, and the server is not
// draining. With ?reads the engine need not be writable. Of several stores one is enough: a 503
// would make its names unavailable too.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		writeProblem(w, newProblem(http.StatusServiceUnavailable, string(dibs.CodeUnavailable), "the server is shutting down"))
		return
	}
	states, err := s.storeStates(r.Context())
	if err != nil {
		s.notReady(w, "the store does not answer", health.CauseOf(err))
		return
	}
	onlyReads := r.URL.Query().Has("reads")
	works := len(states) == 0
	answer := status{Status: "ready"}
	for _, state := range states {
		works = works || state.Writes || onlyReads && state.Reads
		if !state.Writes {
			answer.Stores = append(answer.Stores, storeStatus{storeLabel(state), state.Reads, state.Writes, state.Cause})
		}
	}
	if !works {
		s.notReady(w, "the store cannot be written to", answer.Stores[0].Cause)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

func (s *Server) notReady(w http.ResponseWriter, what string, cause dibs.Cause) {
	if cause != "" {
		what += ": " + string(cause)
	}
	p := newProblem(http.StatusServiceUnavailable, string(dibs.CodeUnavailable), what)
	p.Cause = string(cause)
	writeProblem(w, p)
}

// storeStates pings the engine, and returns the state of its stores. Concurrent requests share
// one ping: /readyz takes no key, and must not keep the engine busy.
func (s *Server) storeStates(ctx context.Context) ([]health.State, error) {
	states, err, _ := s.pings.Do("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
		defer cancel()
		if err := health.Ping(ctx, s.cfg.Store); err != nil {
			if s.cfg.Health == nil { // otherwise Health logs it
				s.logNoAnswer(err)
			}
			return []health.State(nil), err
		}
		return s.cfg.Health.States(ctx), nil
	})
	return states.([]health.State), err
}

// storeLabel returns the name of a store; "default" if it has none.
func storeLabel(s health.State) string { return cmp.Or(s.Store, "default") }

// storeMetrics exports the states of the stores.
type storeMetrics struct{ board *health.Monitor }

var (
	answersDesc  = prometheus.NewDesc("dibs_store_up", "Whether a store answers: 1, or 0.", []string{"store"}, nil)
	writableDesc = prometheus.NewDesc("dibs_store_writable", "Whether a store can be written to: 1, or 0.", []string{"store"}, nil)
)

// Describe sends the descriptions of the metrics.
func (storeMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- answersDesc
	out <- writableDesc
}

// Collect sends the known states. It does not wait for a probe.
func (c storeMetrics) Collect(out chan<- prometheus.Metric) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	for _, state := range c.board.States(now) {
		out <- prometheus.MustNewConstMetric(answersDesc, prometheus.GaugeValue, oneIf(state.Reads), storeLabel(state))
		out <- prometheus.MustNewConstMetric(writableDesc, prometheus.GaugeValue, oneIf(state.Writes), storeLabel(state))
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
