//go:build unix

package torture

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

// allowed is how far the clocks of servers on etcd may be apart: etcdstore.Config.MaxSkew.
const allowed = 500 * time.Millisecond

// jumpOne moves the clock of a server within what the others allow, and then further. One of them
// must say so and refuse to write: see docs/engines.md. A server that is ahead may have moved the
// registry's time, which an operator sets back.
func jumpOne(t *run, random *rand.Rand) time.Time {
	s, w := t.anyServer(random), t.witness(random)
	set := func(ahead time.Duration) { t.must(setClock(t.clockPath(s.number), ahead)) }
	little, by := way(random)*within(random), way(random)*beyond(random)

	before := t.logSizes()
	short := w.holdShortly(shortTTL)
	set(little)
	when := fmt.Sprintf("with the clock of server %d allowed to be %v ahead", s.number, little)
	w.check(little, when)
	short.check(little, when)
	for i, s := range t.servers {
		t.must(s.awaitService(t.scope))
		for _, refusal := range wrongRefusals(s.logSince(before[i])) {
			w.wrong(when, "server %d refuses to write: %s", s.number, refusal)
		}
	}

	if len(t.servers) == 1 { // it cannot notice more than that
		set(0)
		return time.Now()
	}
	before = t.logSizes()
	set(by)
	t.must(w.await(func() bool {
		return slices.ContainsFunc(t.servers, func(s *server) bool { return s.saysSince(before[s.number-1], wrongClock) })
	}, fmt.Sprintf("a server says that the clock of server %d has jumped by %v", s.number, by)))
	t.must(w.await(func() bool {
		return slices.ContainsFunc(t.servers, func(s *server) bool {
			err := s.probe(t.scope)
			return err != nil && strings.Contains(err.Error(), string(dibs.CauseClock))
		})
	}, fmt.Sprintf("a server refuses to write while the clock of server %d is %v ahead", s.number, by)))
	w.checkRefused(by, fmt.Sprintf("with the clock %v ahead", by))
	set(0)
	gone := time.Now()
	t.must(t.setTime())
	return gone
}

// within draws a jump that is allowed.
func within(random *rand.Rand) time.Duration { return draw(random, smallest, allowed*9/10) }

// beyond draws a jump that is more than allowed: half of them by little.
func beyond(random *rand.Rand) time.Duration {
	if random.IntN(2) == 0 {
		return draw(random, allowed*6/5, 3*allowed)
	}
	return draw(random, noticed, farthest)
}

// wrongClock begins what a server says of a clock that is not allowed.
const wrongClock = "etcdstore: this machine's clock is "

var offBy = regexp.MustCompile(regexp.QuoteMeta(wrongClock) + `(off by )?(\S+) .*`)

// wrongRefusals returns what a log says of clocks that are allowed. A server knows another one's clock by what it publishes,
// so a message that is late makes the other clock seem slow, and its own seem ahead: on a busy machine it may
// refuse to write for that. No delay makes its own clock seem behind. Much further behind it is by an earlier jump of a server that
// was killed since.
func wrongRefusals(log []byte) (wrong []string) {
	for _, said := range offBy.FindAllSubmatch(log, -1) {
		other, err := time.ParseDuration(string(said[2])) // how far another clock is ahead
		isOther := len(said[1]) > 0
		if err == nil && isOther && (other < -allowed || other > 3*allowed) {
			continue
		}
		wrong = append(wrong, string(said[0]))
	}
	return wrong
}
