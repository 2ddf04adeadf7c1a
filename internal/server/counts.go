package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/calldibs/dibs"
)

// nameCounts exports the last count of names by state. A scrape starts a new count if one is
// due, and does not wait for it.
type nameCounts struct {
	stats *stats
}

var (
	namesDesc    = prometheus.NewDesc("dibs_names", "Names by state (held, suspect, active, alias, quarantined), when they were last counted.", []string{"state"}, nil)
	suspectsDesc = prometheus.NewDesc("dibs_suspects_unsettled", "Lapsed holds that wait for a witness, when they were last counted.", nil, nil)
	endingDesc   = prometheus.NewDesc("dibs_holds_ending", "Holds that end within a minute, when they were last counted.", nil, nil)
)

// Describe sends the descriptions of the metrics.
func (nameCounts) Describe(out chan<- *prometheus.Desc) {
	out <- namesDesc
	out <- endingDesc
	out <- suspectsDesc
}

// Collect sends the last counts, if there are any.
func (c nameCounts) Collect(out chan<- prometheus.Metric) {
	counts, ok := c.stats.latest()
	if !ok {
		return
	}
	byState := make(map[dibs.State]int)
	for _, state := range []dibs.State{dibs.Held, dibs.Suspect, dibs.Active, dibs.Alias, dibs.Quarantined} {
		byState[state] = 0
	}
	for _, n := range counts.Names {
		byState[n.State] += n.Count
	}
	for state, n := range byState {
		out <- prometheus.MustNewConstMetric(namesDesc, prometheus.GaugeValue, float64(n), string(state))
	}
	out <- prometheus.MustNewConstMetric(endingDesc, prometheus.GaugeValue, float64(counts.EndingSoon))
	out <- prometheus.MustNewConstMetric(suspectsDesc, prometheus.GaugeValue, float64(byState[dibs.Suspect]))
}
