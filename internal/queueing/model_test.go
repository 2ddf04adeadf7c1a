package queueing_test

import (
	"math"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/queueing"
)

// Where the answer can be worked out by hand, the simulation finds it.
func TestSimple(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		model queueing.Model
		want  float64 // a second
	}{
		{"one caller waits for work and commit", queueing.Model{Callers: 1, Writers: 1, MaxBatch: 100, Cores: 1, Row: 1e6, Batch: 1e6, Commit: 8e6}, 100},
		{"a slow commit is shared by all", queueing.Model{Callers: 100, Writers: 1, MaxBatch: 100, Cores: 1, Commit: 10e6}, 10_000},
		{"batches are bounded", queueing.Model{Callers: 100, Writers: 1, MaxBatch: 10, Cores: 1, Commit: 10e6}, 1000},
		{"two writers commit at once", queueing.Model{Callers: 100, Writers: 2, MaxBatch: 10, Cores: 1, Commit: 10e6}, 2000},
		{"the processors are the limit", queueing.Model{Callers: 1000, Writers: 8, MaxBatch: 100, Cores: 2, Row: 50e3, Commit: 1e6}, 40_000},
		{"no calls", queueing.Model{Writers: 1, MaxBatch: 1, Cores: 1}, 0},
	} {
		got := c.model.Simulate(10 * time.Second)
		if math.Abs(got.PerSecond-c.want) > 0.02*c.want {
			t.Errorf("%s: %+v, want %v a second", c.name, got, c.want)
		}
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	m := queueing.Model{Callers: 100, Writers: 1, MaxBatch: 100, Cores: 2, Row: 50e3, Batch: 1e6, Commit: 4e6}
	got := m.Simulate(10 * time.Second)
	if got.Batch != 100 || got.Latency != 10*time.Millisecond || math.Abs(got.Busy-0.3) > 0.01 {
		t.Errorf("%+v, want batches of 100, 10 ms and 0.3 of two cores", got)
	}
}
