package torture

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	stores "github.com/calldibs/dibs/internal/engine"
)

// The clock of an engine jumps by up to farthest, and back.
const (
	farthest = 3 * time.Hour

	// noticed is a jump of which every server must say that it has happened. A server says so of more than a second, and
	// does not know at which moment of a call the engine has read its clock: the call before the jump and the one after
	// it may take a second each.
	noticed = 3 * time.Second
	// unnoticed is a jump of which no server may say so. Slow calls hide jumps, and never make one up.
	unnoticed = 900 * time.Millisecond
	smallest  = 50 * time.Millisecond
)

// isClock reports whether a fault moves a clock.
func isClock(f fault) bool { return f.clock }

// ofRound returns the faults of a round, and how far clocks may jump in it. Holds that end while a
// clock jumps can end twice, so clocks jump in every second round, in which holds are long.
func (t *run) ofRound(number uint64) (faults []fault, jumps time.Duration) {
	steady := slices.DeleteFunc(slices.Clone(t.faults), isClock)
	if len(steady) == len(t.faults) || len(steady) > 0 && number%2 == 1 {
		return steady, 0
	}
	return t.faults, farthest
}

// roundLength is how long a round lasts: there is time for one with steady clocks, and one without.
func (t *run) roundLength() time.Duration {
	if t.For > 0 && slices.ContainsFunc(t.faults, isClock) {
		return min(mostOfRound, t.For/2)
	}
	return mostOfRound
}

// draw draws how far a clock jumps. Each order of magnitude is as likely as another.
func draw(random *rand.Rand, least, most time.Duration) time.Duration {
	return time.Duration(float64(least) * math.Pow(float64(most)/float64(least), random.Float64()))
}

// way draws whether a clock jumps ahead, 1, or back, -1.
func way(random *rand.Rand) time.Duration { return time.Duration(1 - 2*random.IntN(2)) }

// clockPath is the file that moves the clock of a server's process.
func (t *run) clockPath(number int) string {
	return filepath.Join(t.Folder, "clock-"+strconv.Itoa(number))
}

// withClock returns the environment of a server whose clock can be moved.
func (t *run) withClock(number int) []string {
	if !slices.ContainsFunc(t.faults, isClock) {
		return t.Env
	}
	if t.members == nil {
		number = 0 // of one machine
	}
	return append(slices.Clone(t.Env), stores.ClockVariable+"="+t.clockPath(number))
}

// setClock moves a clock to so much ahead of the machine's.
func setClock(path string, ahead time.Duration) error {
	next := path + ".next" // a reader never sees half of it
	if err := os.WriteFile(next, []byte(ahead.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// jumpAll lets the clock of an engine jump by a little, then by more in the same direction, and return. Every server must say
// of a jump of three seconds, and not of less than one, that it happened.
func (t *run) jumpAll(random *rand.Rand, set func(ahead time.Duration) error) (gone time.Time) {
	w, to := t.witness(random), way(random)
	little := to * draw(random, smallest, noticed)
	far := little + to*draw(random, noticed, farthest-noticed)

	before := t.logSizes()
	short := w.holdShortly(shortTTL)
	t.must(set(little))
	when := fmt.Sprintf("with the clock %v ahead", little)
	w.check(little, when)
	short.check(little, when)
	t.must(w.readEverywhere()) // also for what they say next: they compare with this
	for i, s := range t.servers {
		if little.Abs() <= unnoticed && s.saysSince(before[i], clockWasSet) {
			t.found(Violation{Kind: "witness", What: fmt.Sprintf("%s, server %d says that it has jumped", when, s.number)})
		}
	}

	t.mustSay(w, far, set)
	w.check(far, fmt.Sprintf("with the clock %v ahead", far))
	t.mustSay(w, 0, set)
	return time.Now()
}

// clockWasSet is what a server says of a jump.
const clockWasSet = "the clock of the store was set"

// mustSay moves a clock so far that every server must say so.
func (t *run) mustSay(w witnesses, ahead time.Duration, set func(ahead time.Duration) error) {
	before := t.logSizes()
	t.must(set(ahead))
	for i, s := range t.servers {
		t.must(w.await(func() bool { return s.saysSince(before[i], clockWasSet) },
			fmt.Sprintf("server %d says that the clock has jumped, and is %v ahead", s.number, ahead)))
	}
}

// logSizes returns how long the logs of the servers are.
func (t *run) logSizes() []int64 {
	sizes := make([]int64, len(t.servers))
	for i, s := range t.servers {
		info, err := os.Stat(s.logPath)
		t.must(err)
		sizes[i] = info.Size()
	}
	return sizes
}

// saysSince reports whether the log, from an offset on, has a word.
func (s *server) saysSince(offset int64, word string) bool {
	return bytes.Contains(s.logSince(offset), []byte(word))
}

// logSince returns the log from an offset on.
func (s *server) logSince(offset int64) []byte {
	log, err := os.ReadFile(s.logPath)
	if err != nil {
		return nil
	}
	return log[min(offset, int64(len(log))):]
}
