package bench

import (
	"fmt"

	"github.com/calldibs/dibs/internal/figures"
)

// The figures of a measurement, and their units, are what the files of results have.
type (
	sample = figures.Sample
	unit   = figures.Unit
)

// reading is what a turn measured: the figure, and the processor time of each call in
// microseconds, of this process and of the engine's processes. On a busy machine only the
// second means something.
type reading struct {
	figure, processor float64
}

// series has the readings of one side, one of each round.
type series struct {
	figures, processor sample
}

func (s *series) add(r reading) {
	s.figures = append(s.figures, r.figure)
	s.processor = append(s.processor, r.processor)
}

// figuresOf returns a series without processor time.
func figuresOf(rounds ...float64) series { return series{figures: rounds} }

// peer is what a figure is compared with.
type peer struct {
	is    string // what it is
	lacks string // what a user gives up with it
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
	goal    string
	what    string
	unit    unit
	ours    series
	against peer
	peer    series // empty if there is none; the target is then for our own figure
	want    target
}

func (r row) compared() bool { return len(r.peer.figures) > 0 }

// figure is compared with the target: the ratio of the medians, or our own median.
func (r row) figure() float64 {
	if !r.compared() {
		return r.ours.figures.Median()
	}
	return r.ours.figures.Median() / r.peer.figures.Median()
}

func (r row) met() bool { return r.want.met(r.figure()) }

// target formats the target in the unit of the figure.
func (r row) target() string {
	switch {
	case r.want.sense == noTarget:
		return ""
	case !r.compared():
		return fmt.Sprintf("%s %s", r.want.sense, r.unit.Format(r.want.value))
	default:
		return fmt.Sprintf("%s %v×", r.want.sense, r.want.value)
	}
}

// String is for messages: "S1 reserve on PostgreSQL; peer: bare INSERT: 4.53×, want ≥ 5×".
func (r row) String() string {
	text, figure := r.goal+" "+r.what, r.unit.Format(r.figure())
	if r.compared() {
		figure = figures.Ratio(r.figure())
		text += "; peer: " + r.against.is
	}
	text += ": " + figure
	if want := r.target(); want != "" {
		text += ", want " + want
	}
	return text
}
