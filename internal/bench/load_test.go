//go:build unix

package bench

import (
	"errors"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	t.Parallel()
	var latencies []time.Duration
	for i := 101; i > 0; i-- {
		latencies = append(latencies, time.Duration(i)*time.Second)
	}
	r := newRun(2*time.Second, latencies)
	if got := r.rate(); got != 50.5 {
		t.Errorf("the rate is %v", got)
	}
	for p, want := range map[float64]float64{0: 1, 50: 51, 99: 100, 100: 101} {
		if got := r.percentile(p); got != want {
			t.Errorf("p%v is %v, want %v", p, got, want)
		}
	}
}

func TestNamesAreNew(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for range 10_000 {
		name := newName()
		if seen[name] {
			t.Fatalf("%s is not new", name)
		}
		seen[name] = true
	}
}

func TestWorkIsDoneSoManyTimes(t *testing.T) {
	t.Parallel()
	l := &lab{TB: t}
	if done := l.work(8, times(100), func(string) error { return nil }); len(done.latencies) != 100 {
		t.Errorf("work was done %d times, want 100", len(done.latencies))
	}
}

func TestWorkIsDoneOnceWithoutTime(t *testing.T) {
	t.Parallel()
	l := &lab{TB: t}
	if done := l.work(8, lasting(0), func(string) error { return nil }); len(done.latencies) != 1 {
		t.Errorf("work was done %d times, want 1", len(done.latencies))
	}
}

func TestOneFailureIsEnough(t *testing.T) {
	t.Parallel()
	failure := errors.New("out of order")
	err := concurrently(5, func(caller int) error {
		if caller == 3 {
			return failure
		}
		return nil
	})
	if !errors.Is(err, failure) {
		t.Errorf("%v, want %v", err, failure)
	}
}

// Sides take turns, so that a disturbance affects both.
func TestTurns(t *testing.T) {
	t.Parallel()
	order := ""
	turn := func(name string, figure float64) func() reading {
		return func() reading {
			order += name
			return reading{figure, 10 * figure}
		}
	}
	samples := (&lab{TB: t, rounds: 3}).takeTurns(turn("a", 1), turn("b", 2))
	if order != "ababab" || len(samples) != 2 || samples[0].figures.Median() != 1 || samples[1].processor.Median() != 20 {
		t.Errorf("in the order %s: %v", order, samples)
	}
}
