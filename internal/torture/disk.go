package torture

import (
	"math/rand/v2"
	"time"
)

// fullDiskFault fills the disk for up to a while, and then starts again what has ended because it could not write.
func fullDiskFault(name, about, where string, most time.Duration, revive func(*run)) fault {
	return fault{Fault: Fault{name, about, where}, inject: func(t *run, random *rand.Rand) time.Time {
		t.must(t.disk.Fill())
		pause(random, most/20, most)
		t.must(t.disk.Empty())
		gone := time.Now()
		revive(t)
		return gone
	}, undo: func(t *run, _ *rand.Rand) { revive(t) }} // something may still have answered, and then ended
}

// powerFault kills what has files open on the disk, takes the disk's power, and starts it again. What
// was acknowledged before must be there: the witnesses are, however early in a run. They are asked for once every server
// serves again: before that, a server that has lost them may not answer, and seem to have them.
func powerFault(name, about, where string, kill, start func(*run)) fault {
	return fault{Fault: Fault{name, about, where}, inject: func(t *run, random *rand.Rand) time.Time {
		t.witnesses = t.witness(random)
		kill(t)
		t.must(t.disk.LosePower())
		gone := time.Now()
		start(t)
		return gone
	}, undo: func(t *run, _ *rand.Rand) { t.witnesses.check(0, "after the power failed") }}
}
