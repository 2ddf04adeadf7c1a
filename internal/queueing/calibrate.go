package queueing

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/calldibs/dibs/internal/figures"
)

// The writers of a registry on PostgreSQL, and the most calls of a batch, by default.
const (
	writers  = 2
	maxBatch = 512
)

// manyCallers is the number of callers of the curve by commit latency.
const manyCallers = 256

// Calibrated returns the model of the machine on which make bench ran. It uses three measured
// points: a lone caller, many callers, and the first of the curve by commit latency, whose
// commits have no delay. All other points of the curves are predictions.
func Calibrated(run figures.Run) (Model, error) {
	m, err := measured(run)
	if err != nil {
		return Model{}, err
	}
	quick, ok := run.Curve("latency").Line(figures.OnPostgres).At(0)
	if !ok {
		return Model{}, errors.New("the run lacks commits without a delay")
	}
	return m.slowedTo(quick.Y), nil
}

// measured returns the model with the processor times that were measured.
func measured(run figures.Run) (Model, error) {
	byCallers := run.Curve("callers").Line(figures.OnPostgres)
	lone, hasLone := byCallers.At(1)
	many, hasMany := byCallers.At(manyCallers)
	if !hasLone || !hasMany || many.ProcessorMicros == 0 {
		return Model{}, fmt.Errorf("the run lacks a lone caller, or %d callers", manyCallers)
	}
	// A lone call is a batch of its own; many calls share theirs.
	const shared = manyCallers / writers
	batch := max(lone.ProcessorMicros-many.ProcessorMicros, 0) * shared / (shared - 1)
	row := max(lone.ProcessorMicros-batch, 1)
	commit := max(1e6/lone.Y-lone.ProcessorMicros, 0)
	return Model{
		Callers: manyCallers, Writers: writers, MaxBatch: maxBatch, Cores: run.Cores,
		Row: micros(row), Batch: micros(batch), Commit: micros(commit),
	}, nil
}

// slowedTo returns a model whose processors are slower, such that it has this rate: others use
// them too, and the scheduler is not perfect.
func (m Model) slowedTo(rate float64) Model {
	low, high := 0.1, 100.0
	for high/low > 1.001 {
		if middle := math.Sqrt(low * high); m.slower(middle).Simulate(time.Second).PerSecond > rate {
			low = middle
		} else {
			high = middle
		}
	}
	return m.slower(high)
}

func (m Model) slower(factor float64) Model {
	m.Row = time.Duration(float64(m.Row) * factor)
	m.Batch = time.Duration(float64(m.Batch) * factor)
	return m
}

// Delayed returns a model whose commits take longer.
func (m Model) Delayed(d time.Duration) Model {
	m.Commit += d
	return m
}

func micros(v float64) time.Duration { return time.Duration(v * float64(time.Microsecond)) }

// Prediction is a point of the curve by commit latency, and what the model says.
type Prediction struct {
	Delay               time.Duration
	Measured, Predicted float64 // calls a second
}

// Predict compares the model with the whole curve by commit latency.
func Predict(run figures.Run) ([]Prediction, error) {
	m, err := Calibrated(run)
	if err != nil {
		return nil, err
	}
	var predictions []Prediction
	for _, p := range run.Curve("latency").Line(figures.OnPostgres).Points {
		delay := micros(1000 * p.X)
		predictions = append(predictions, Prediction{delay, p.Y, m.Delayed(delay).Simulate(10 * time.Second).PerSecond})
	}
	return predictions, nil
}
