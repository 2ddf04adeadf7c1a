package bench

import (
	"runtime"
	"time"

	"github.com/calldibs/dibs/internal/figures"
)

// newResults returns a run as it is stored in a file.
func newResults(postgresql string, roundCount int, length time.Duration, rows []row) figures.Run {
	r := figures.Run{
		Date: time.Now().UTC().Format(time.DateOnly), Go: runtime.Version(), PostgreSQL: postgresql,
		Cores: runtime.GOMAXPROCS(0), Rounds: roundCount, Seconds: length.Seconds(),
	}
	for _, row := range rows {
		r.Results = append(r.Results, newResult(row))
	}
	return r
}

func newResult(r row) figures.Result {
	kept := figures.Result{
		Goal: r.goal, What: r.what, Unit: r.unit, Target: r.target(), Ours: newRounds(r.ours),
		Against: r.against.is, Lacks: r.against.lacks,
	}
	if r.compared() {
		kept.Peer = new(newRounds(r.peer))
		kept.Ratio = new(r.figure())
	}
	if r.want.sense != noTarget {
		kept.Met = new(r.met())
	}
	return kept
}

func newRounds(s series) figures.Rounds {
	return figures.Rounds{Median: s.figures.Median(), Rounds: s.figures, ProcessorMicros: s.processor.Median()}
}
