package bench

import (
	"fmt"
	"slices"
)

// sample has the figures of several rounds of one measurement.
type sample []float64

// median returns the median, which a single outlier does not change much.
func (s sample) median() float64 {
	sorted := slices.Sorted(slices.Values(s))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// target is what a figure must reach. A figure with the zero target is only printed.
type target struct {
	sense sense
	value float64
}

type sense string

const (
	noTarget sense = ""
	least    sense = "≥"
	most     sense = "≤"
)

func atLeast(value float64) target { return target{least, value} }
func atMost(value float64) target  { return target{most, value} }

func (t target) met(figure float64) bool {
	switch t.sense {
	case least:
		return figure >= t.value
	case most:
		return figure <= t.value
	default:
		return true
	}
}

// row is a line of the table.
type row struct {
	goal string
	what string
	unit unit
	ours sample
	peer sample // empty if there is none; the target is then for our own figure
	want target
}

// figure is compared with the target: the ratio of the medians, or our own median.
func (r row) figure() float64 {
	if len(r.peer) == 0 {
		return r.ours.median()
	}
	return r.ours.median() / r.peer.median()
}

func (r row) met() bool { return r.want.met(r.figure()) }

// target formats the target in the unit of the figure.
func (r row) target() string {
	switch {
	case r.want.sense == noTarget:
		return ""
	case len(r.peer) == 0:
		return fmt.Sprintf("%s %s", r.want.sense, r.unit.format(r.want.value))
	default:
		return fmt.Sprintf("%s %v×", r.want.sense, r.want.value)
	}
}

// String is for messages: "S1 reserve on PostgreSQL: 4.53×, want ≥ 5×".
func (r row) String() string {
	figure := r.unit.format(r.figure())
	if len(r.peer) > 0 {
		figure = formatRatio(r.figure())
	}
	text := fmt.Sprintf("%s %s: %s", r.goal, r.what, figure)
	if want := r.target(); want != "" {
		text += ", want " + want
	}
	return text
}
