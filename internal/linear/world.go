package linear

import (
	"math"
	"time"

	"github.com/calldibs/dibs"
)

// world is all there is in the model, at one moment: a few names in one namespace, and
// their entities. Worlds are values: rules change a copy.
type world struct {
	quarantine bool // names that are given up are kept back for longer than a history takes
	names      [maxNames + 1]name
	entities   [maxEntities + 1]entity
}

// name is a name that has an epoch, or was never asked for.
type name struct {
	state     dibs.State
	status    dibs.Status
	epoch     uint64
	token     int // of the last hold
	intended  int // whom the last hold is for
	owner     int // or the last one
	confirmed bool
	kept      bool // a hold that was taken out of quarantine, and goes back there
	ends      span // of a hold

	spent [maxTokens + 1]dibs.Code // how the holds before the last one ended, by token
}

// entity is something that owns names.
type entity struct {
	known, archived, deleted bool

	active  int    // its active name
	version uint64 // this, or unless it is exact a higher one
	exact   bool
}

// span is when something happens: at a moment that may not be known, but in here.
type span struct{ from, to millis }

const never = millis(math.MaxInt64)

func moment(m millis) span { return span{m, m} }

func (s span) contains(m millis) bool { return s.from <= m && m <= s.to }

func newWorld(quarantine bool) world {
	w := world{quarantine: quarantine}
	for i := range w.names {
		w.names[i].state = dibs.Free
	}
	return w
}

// skew is by how much the engine's clock and the callers' may differ. All are on one
// machine, and cut to the millisecond.
const skew = 20

// The registry may guess the engine's time when it works out the end of a hold. A commit is
// in time if the guess was early or late by no more than this.
const (
	guessedEarly = 2 * time.Second
	guessedLate  = 100 * time.Millisecond
)

// mayHaveLapsed and mayLive report what can be with the hold on a name while an Op is
// under way.
func (n *name) mayHaveLapsed(told millis) bool {
	return n.state == dibs.Held && (told == never || n.ends.from <= told+skew)
}

func (n *name) mayLive(asked millis) bool { return n.state != dibs.Held || n.ends.to > asked-skew }

// lapse ends a hold whose time is over.
func (n *name) lapse() { n.endHold(dibs.StatusExpired) }

func (n *name) endHold(status dibs.Status) {
	n.state, n.status, n.ends = dibs.Free, status, span{}
	if n.kept {
		n.state = dibs.Quarantined
	}
}

// moments returns the worlds in which an Op may have been decided: in each of them some
// holds that it looks at are over. One that deletes an entity looks at none, whatever name
// it was given: a confirmation that was in time may still be under way then, and come after
// it.
func (w world) moments(o Op, told millis) []world {
	worlds := []world{w}
	if o.Verb == Delete {
		return worlds
	}
	for _, i := range []int{o.Name, o.Other} {
		if i == 0 || !w.names[i].mayHaveLapsed(told) {
			continue
		}
		for _, before := range worlds {
			after := before
			after.names[i].lapse()
			worlds = append(worlds, after)
		}
		if !w.names[i].mayLive(o.Asked) {
			worlds = worlds[len(worlds)/2:]
		}
	}
	return worlds
}

// show is how a name is shown to callers.
func (w *world) show(i int) Seen {
	n := &w.names[i]
	seen := Seen{Name: i, State: n.state, Status: n.status, Epoch: n.epoch, Entity: n.owner}
	if n.state == dibs.Held || n.owner == 0 {
		seen.Entity = n.intended
	}
	return seen
}

// change notes that an entity has changed.
func (w *world) change(e int) {
	w.entities[e].known = true
	w.entities[e].version++
	w.entities[e].exact = false
}
