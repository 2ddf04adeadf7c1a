//go:build unix

package bench

import (
	"time"

	"github.com/calldibs/dibs/internal/figures"
)

// curve is a figure that depends on another one, and the function that measures it.
type curve struct {
	id      string
	measure func(*lab) figures.Curve
}

// curves are measured after the goals, and drawn by make charts.
var curves = []curve{
	{"callers", rateByCallers},
	{"latency", rateByCommitLatency},
}

// rateByCallers shows that callers share commits: more callers make larger batches.
func rateByCallers(l *lab) figures.Curve {
	at := func(open func(*lab) contender) func(*lab, float64) func() reading {
		return func(l *lab, callers float64) func() reading {
			return l.turn(open, func(c contender) reading { return l.load(c, int(callers), reserveFree(c)).perSecond() })
		}
	}
	return figures.Curve{
		ID: "callers", Title: "Reservations a second by the number of callers", X: "callers at once", Y: "reservations a second",
		Lines: l.trace([]float64{1, 4, 16, 64, 256, 1024},
			line{figures.OnPostgres, at(dibsOnPostgres)}, line{figures.OnSQLite, at(dibsOnSQLite)}, line{figures.Bare, at(plainOnPostgres)}),
	}
}

// rateByCommitLatency shows what that is worth where commits are slow: on slow disks, or with a
// standby in another place that must have each commit.
func rateByCommitLatency(l *lab) figures.Curve {
	at := func(open func(*lab) contender) func(*lab, float64) func() reading {
		return func(l *lab, millis float64) func() reading {
			slow := l.in(l.TB)
			slow.delay = time.Duration(millis * float64(time.Millisecond))
			return slow.turn(open, slow.reserveRate)
		}
	}
	return figures.Curve{
		ID: "latency", Title: "Reservations a second by how much longer a commit takes", X: "added to each commit, ms", Y: "reservations a second",
		Lines: l.trace([]float64{0, 1, 5, 20}, line{figures.OnPostgres, at(dibsOnPostgres)}, line{figures.Bare, at(plainOnPostgres)}),
	}
}

// line is a side of a curve: a function that returns how the point at x is measured.
type line struct {
	name string
	at   func(l *lab, x float64) func() reading
}

// curveShare is the length of a turn at a point, as a share of a round: there are many points.
const curveShare = 0.4

// trace measures all points of all lines in turns, and returns their medians.
func (l *lab) trace(xs []float64, lines ...line) []figures.Line {
	l.Helper()
	short := l.in(l.TB)
	short.length, short.profile = time.Duration(float64(l.length)*curveShare), nil
	if l.ends {
		xs = []float64{xs[0], xs[len(xs)-1]}
	}
	var sides []func() reading
	for _, x := range xs {
		for _, side := range lines {
			sides = append(sides, side.at(short, x))
		}
	}
	measured := short.takeTurns(sides...)
	traced := make([]figures.Line, len(lines))
	for i, side := range lines {
		traced[i].Name = side.name
		for k, x := range xs {
			s := measured[k*len(lines)+i]
			traced[i].Points = append(traced[i].Points, figures.Point{X: x, Y: s.figures.Median(), ProcessorMicros: s.processor.Median()})
		}
	}
	return traced
}
