package health

import (
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

func TestJumpsOfClocks(t *testing.T) {
	t.Parallel()
	start := time.Now()
	const noon = dibs.Instant(1_800_000_000_000)
	for name, c := range map[string]struct {
		took     time.Duration // the first reading, which ended at the start
		from, to time.Duration // of the second reading
		now      dibs.Instant
		want     time.Duration
	}{
		"it goes on":           {0, time.Hour, time.Hour, noon.Add(time.Hour), 0},
		"it drifts":            {0, time.Minute, time.Minute, noon.Add(time.Minute - 900*time.Millisecond), 0},
		"it is set back":       {0, time.Minute, time.Minute, noon.Add(-time.Hour), -time.Hour - time.Minute},
		"it stands still":      {0, time.Minute, time.Minute, noon, -time.Minute},
		"it is set ahead":      {0, time.Minute, time.Minute, noon.Add(time.Hour), 59 * time.Minute},
		"the answer came late": {0, 0, time.Minute, noon, 0},
		"the first came late":  {time.Minute, time.Minute, time.Minute, noon.Add(2 * time.Minute), 0},
		"ahead after a late":   {time.Minute, time.Minute, time.Minute, noon.Add(time.Hour), 59 * time.Minute},
		"back after a late":    {time.Minute, time.Minute, time.Minute, noon, -time.Minute},
		"an older answer":      {0, -time.Minute, -time.Second, noon.Add(-time.Hour), 0},
	} {
		var watch clockWatch
		if by := watch.jump(start.Add(-c.took), start, noon); by != 0 {
			t.Errorf("%s: the first reading is a jump by %v", name, by)
		}
		if by := watch.jump(start.Add(c.from), start.Add(c.to), c.now); by != c.want {
			t.Errorf("%s: a jump by %v, want %v", name, by, c.want)
		}
	}
}

// Readings one after the other, in the order of their answers.
func TestJumpsOfClocksAndSlowAnswers(t *testing.T) {
	t.Parallel()
	type reading struct {
		from, to, said time.Duration // after the start
		want           time.Duration
	}
	for name, readings := range map[string][]reading{
		"ahead after a slow answer": {
			{0, 0, 0, 0}, {1 * time.Second, 61 * time.Second, 61 * time.Second, 0}, {62 * time.Second, 62 * time.Second, 92 * time.Second, 30 * time.Second},
		},
		"back after a slow answer": {
			{0, 0, 0, 0}, {1 * time.Second, 61 * time.Second, 1 * time.Second, 0}, {62 * time.Second, 62 * time.Second, 32 * time.Second, -30 * time.Second},
		},
		"steady after slow answers": {
			{0, 0, 0, 0},
			{1 * time.Second, 61 * time.Second, 2 * time.Second, 0},
			{62 * time.Second, 99 * time.Second, 98 * time.Second, 0},
			{100 * time.Second, 100 * time.Second, 100 * time.Second, 0},
		},
		"it drifts all the time": {
			{0, 0, 0, 0},
			{time.Hour, time.Hour, time.Hour + 900*time.Millisecond, 0},
			{2 * time.Hour, 2*time.Hour + time.Second, 2*time.Hour + 1800*time.Millisecond, 0},
			{3 * time.Hour, 3 * time.Hour, 3*time.Hour + 2700*time.Millisecond, 0},
		},
		"a slow answer from before a jump": {
			{0, 0, 0, 0},
			{6 * time.Second, 7 * time.Second, time.Hour + 6*time.Second, time.Hour - time.Second},
			{1 * time.Second, 10 * time.Second, 1 * time.Second, 0},
			{11 * time.Second, 11 * time.Second, time.Hour + 11*time.Second, 0},
		},
	} {
		var watch clockWatch
		start := time.Now()
		const noon = dibs.Instant(1_800_000_000_000)
		for i, r := range readings {
			if by := watch.jump(start.Add(r.from), start.Add(r.to), noon.Add(r.said)); by != r.want {
				t.Errorf("%s: reading %d is a jump by %v, want %v", name, i+1, by, r.want)
			}
		}
	}
}
