package torture

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs/internal/spelling"
)

// fault is something that happens to a server, to the network or to the engine, and is over after
// a moment.
type fault struct {
	Fault
	// inject returns when the cause was gone: what comes after is recovery. It calls Fatal of
	// the run's harness if it cannot inject the fault.
	inject func(t *run, random *rand.Rand) (gone time.Time)
	// undo is called once every server serves again: servers must do without what inject took
	// away, and have what inject must not take away. Nil means that inject has left nothing.
	undo func(t *run, random *rand.Rand)
	// clock means that the fault moves a clock.
	clock bool
}

// Fault describes a fault.
type Fault struct {
	Name  string
	About string
	Where string // the engines that have it: "all", "sqlite", "postgres" or "etcd"
}

// Faults returns all faults, in the order of the documentation.
func Faults() (all []Fault) {
	for _, list := range [][]fault{serverFaults, fileFaults, diskFaults, databaseFaults, databaseDiskFaults, databaseClockFaults, memberFaults, memberDiskFaults} {
		for _, f := range list {
			all = append(all, f.Fault)
		}
	}
	return all
}

// serverFaults happen to servers and to the network before them, on every engine.
var serverFaults = []fault{
	{Fault: Fault{"kill", "a server is killed and started again", "all"}, inject: func(t *run, random *rand.Rand) time.Time {
		s := t.anyServer(random)
		t.kill(s)
		gone := time.Now()
		t.must(s.start())
		return gone
	}},
	{Fault: Fault{"stop", "a server is halted for up to three seconds", "all"}, inject: func(t *run, random *rand.Rand) time.Time {
		s := t.anyServer(random)
		t.must(s.stop())
		pause(random, 300*time.Millisecond, 3*time.Second)
		t.must(s.proceed())
		return time.Now()
	}},
	{Fault: Fault{"cut", "the connections to a server are cut, and for a while refused", "all"}, inject: onLink(func(*rand.Rand) trouble {
		return trouble{refuse: true}
	})},
	{Fault: Fault{"one-way", "requests do not reach a server, or its answers do not come back", "all"}, inject: onLink(func(random *rand.Rand) trouble {
		lost := random.IntN(2) == 0
		return trouble{noRequests: lost, noAnswers: !lost}
	})},
	{Fault: Fault{"delay", "the network to a server is slow", "all"}, inject: onLink(func(random *rand.Rand) trouble {
		return trouble{delay: 10*time.Millisecond + time.Duration(random.Int64N(int64(400*time.Millisecond)))}
	})},
}

// onLink is a fault of the network to a server.
func onLink(draw func(*rand.Rand) trouble) func(*run, *rand.Rand) time.Time {
	return func(t *run, random *rand.Rand) time.Time {
		end := t.anyServer(random).link.disturb(draw(random))
		pause(random, 20*time.Millisecond, time.Second)
		end()
		return time.Now()
	}
}

// untilFelt lets a fault last until it has disturbed something. Meanwhile servers are asked for commits, which may fail.
func (t *run) untilFelt(random *rand.Rand, felt *atomic.Bool) {
	for deadline := time.Now().Add(mostStarting); !felt.Load(); {
		_ = t.anyServer(random).probe(t.scope)
		if time.Now().After(deadline) {
			t.harness.Fatalf("nothing was disturbed within %v", mostStarting)
		}
	}
}

// must ends a fault that cannot go on.
func (t *run) must(err error) {
	if err != nil {
		t.harness.Fatal(err)
	}
}

func (t *run) killServers() {
	for _, s := range t.servers {
		t.kill(s)
	}
}

func (t *run) startServers() {
	for _, s := range t.servers {
		t.must(s.start())
	}
}

func (t *run) anyServer(random *rand.Rand) *server { return t.servers[random.IntN(len(t.servers))] }

// pause lets a fault last for a while.
func pause(random *rand.Rand, least, most time.Duration) {
	time.Sleep(least + time.Duration(random.Int64N(int64(most-least))))
}

// checkFault returns an error for the name of a fault that there is not, or that the engine of a run does not have.
func (c Config) checkFault(name string) error {
	var names []string // of the engine
	for _, f := range Faults() {
		isHere := f.Where == "all" || f.Where == cmp.Or(c.Store, "sqlite")
		switch {
		case f.Name != name && isHere:
			names = append(names, f.Name)
		case f.Name != name:
		case !isHere:
			return fmt.Errorf("the fault %q only happens to a private engine: dibs torture %s", name, f.Where)
		default:
			return nil
		}
	}
	return fmt.Errorf("unknown fault %q%s", name, cmp.Or(spelling.Hint(name, names), "; there are "+strings.Join(names, ", ")))
}

// choose returns the faults with these names, or all for nil. One that the engine does not have
// is an error.
func (e engine) choose(names []string) (chosen []fault, err error) {
	if names == nil {
		return e.faults, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(e.faults, func(f fault) bool { return f.Name == name })
		for _, l := range e.leftOut {
			if slices.ContainsFunc(l.faults, func(f fault) bool { return f.Name == name }) {
				return nil, fmt.Errorf("the fault %q cannot happen here: %w", name, l.why)
			}
		}
		if i < 0 {
			return nil, fmt.Errorf("the fault %q cannot happen to %s", name, e.about)
		}
		chosen = append(chosen, e.faults[i])
	}
	return chosen, nil
}
