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
