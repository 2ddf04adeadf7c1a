package linear

import (
	"math/rand/v2"
	"strconv"
	"time"
)

// plan describes one history. It follows from its seed, except for the interleaving of the
// callers' commands.
type plan struct {
	jumps      time.Duration // see [Site]
	seed       uint64
	above      string // the scope above that of the history; empty means none
	apart      bool   // names are independent of each other
	quarantine bool
	lapses     bool // holds are short
	names      int
	clients    int
	steps      int // of each client
}

// The sizes of a history: long enough for conflicts, short enough to be checked.
const (
	planClients = 4
	planSteps   = 25
)

func newPlan(seed uint64) plan {
	random := rand.New(rand.NewPCG(seed, 0))
	p := plan{
		seed: seed, apart: random.IntN(3) == 0, quarantine: random.IntN(3) == 0, lapses: random.IntN(4) == 0,
		names: maxNames, clients: planClients, steps: planSteps,
	}
	if p.apart || random.IntN(2) == 0 {
		p.names = 3
	}
	return p
}

func (p plan) scope() string {
	scope := "h" + strconv.FormatUint(p.seed, 36)
	if p.above != "" {
		return p.above + "." + scope
	}
	return scope
}

func (p plan) namespace() string {
	if p.quarantine {
		return p.scope() + "." + keptType
	}
	return p.scope() + "." + plainType
}

// ofHolds are the verbs on one name, ofEntities those on several. Some are listed twice,
// because others depend on their results.
var (
	ofHolds = []Verb{
		Reserve, Reserve, Reserve, Confirm, Confirm, Confirm, Release, Release, Extend, Claim, Decommission, Delete,
		Get, Get, Resolve, Resolve, Check,
	}
	ofEntities = []Verb{
		Reserve, Reserve, ReserveBoth, Confirm, Replace, Release, Extend, Claim, Claim, Claim, Rename, Rename, Rename, Decommission,
		Transfer, Transfer, Swap, Swap, Archive, Restore, Restore, Delete, Resolve, Resolve, Get, Check, Names, Names,
	}
)

// next draws a client's next operation.
func (p plan) next(random *rand.Rand) Op {
	verbs := ofEntities
	if p.apart {
		verbs = ofHolds
	}
	pick := func(n int) int { return 1 + random.IntN(n) }
	o := Op{Verb: verbs[random.IntN(len(verbs))], Name: pick(p.names), Entity: pick(p.names)}
	if p.apart {
		o.Entity = o.Name
	}
	switch o.Verb {
	case Reserve, ReserveBoth:
		if random.IntN(2) == 0 {
			o.Entity = 0
		}
		o.Token, o.TTL = pick(maxTokens), p.ttl(random)
	case Extend:
		o.Entity, o.Token, o.TTL = 0, pick(maxTokens), p.ttl(random)
	case Confirm, Replace:
		o.Token = pick(maxTokens)
	case Release:
		o.Entity, o.Token = 0, pick(maxTokens)
	case Rename:
		o.Token = random.IntN(maxTokens + 1)
	case Resolve, Get:
		o.Entity = 0
	case Check:
		o.Entity *= random.IntN(2)
	default: // takes a name and an entity
	}
	if !p.apart {
		p.addSecond(&o, random)
	}
	return o
}

// addSecond adds the second name and the second entity, and removes the name from a
// command that takes only an entity.
func (p plan) addSecond(o *Op, random *rand.Rand) {
	other := func(i int) int { return 1 + (i+random.IntN(p.names-1))%p.names }
	switch o.Verb {
	case ReserveBoth:
		o.Other = other(o.Name)
	case Swap:
		o.Other, o.To = other(o.Name), other(o.Entity)
	case Transfer:
		o.To = other(o.Entity)
	case Archive, Restore, Delete, Names:
		o.Name = 0
	default: // takes no second one
	}
}

func (p plan) ttl(random *rand.Rand) time.Duration {
	if p.lapses {
		return time.Duration(20+random.IntN(60)) * time.Millisecond
	}
	// No jump ends it. Some are longer than others, so that one that is extended ends later.
	return time.Duration(1+random.IntN(3))*time.Hour + 2*p.jumps
}

// proof picks the token that most likely holds a name, if a client knows one.
func (p plan) proof(o *Op, known [maxNames + 1]int, random *rand.Rand) {
	switch o.Verb {
	case Confirm, Replace, Release, Extend, Rename:
		if token := known[o.Name]; token != 0 && random.IntN(4) > 0 {
			o.Token = token
		}
	default: // takes no token
	}
}
