package linear

import (
	"math"
	"time"

	"github.com/calldibs/dibs"
)

// world is the state of the model: a few names in one namespace, and their entities. Worlds
// are values: rules change a copy.
type world struct {
	quarantine bool // names that are given up stay in quarantine for longer than a history takes
	names      [maxNames + 1]name
	entities   [maxEntities + 1]entity
}

// name is a name that has an epoch, or was never taken.
type name struct {
	state     dibs.State
	status    dibs.Status
	epoch     uint64
	token     int // of the last hold
	intended  int // the entity that the last hold is for
	owner     int // or the last one
	confirmed bool
	kept      bool // a hold on a name from quarantine, which returns there
	ends      span // of a hold

	spent [maxTokens + 1]dibs.Code // how the holds before the last one ended, by token
}

// entity is an owner of names.
type entity struct {
	known, archived, deleted bool

	active  int    // its active name
	version uint64 // this version, or a higher one unless exact is set
	exact   bool
}

// span is the time of an event whose moment may not be known exactly.
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

// skew is the largest difference between the engine's clock and the callers'. All are on
// one machine, and truncated to the millisecond.
const skew = 20

// The registry may guess the engine's time when it computes the end of a hold. A commit is
// in time if the guess was wrong by no more than this.
const (
	guessedEarly = 2 * time.Second
	guessedLate  = 100 * time.Millisecond
)

// mayHaveLapsed and mayLive report the possible states of the hold on a name during an Op.
func (n *name) mayHaveLapsed(answered millis) bool {
	return n.state == dibs.Held && (answered == never || n.ends.from <= answered+skew)
}

func (n *name) mayLive(asked millis) bool { return n.state != dibs.Held || n.ends.to > asked-skew }

// lapse ends a hold that has expired.
func (n *name) lapse() { n.endHold(dibs.StatusExpired) }

func (n *name) endHold(status dibs.Status) {
	n.state, n.status, n.ends = dibs.Free, status, span{}
	if n.kept {
		n.state = dibs.Quarantined
	}
}

// moments returns the worlds in which an Op may have been decided: in each of them some of
// the holds that it reads are over. A Delete reads no hold: a Confirm that was in time may
// still be in progress, and become visible after the Delete.
func (w world) moments(o Op, answered millis) []world {
	worlds := []world{w}
	if o.Verb == Delete {
		return worlds
	}
	for _, i := range []int{o.Name, o.Other} {
		if i == 0 || !w.names[i].mayHaveLapsed(answered) {
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

// show is a name as callers see it.
func (w *world) show(i int) Seen {
	n := &w.names[i]
	seen := Seen{Name: i, State: n.state, Status: n.status, Epoch: n.epoch, Entity: n.owner}
	if n.state == dibs.Held || n.owner == 0 {
		seen.Entity = n.intended
	}
	return seen
}

// change records that an entity has changed.
func (w *world) change(e int) {
	w.entities[e].known = true
	w.entities[e].version++
	w.entities[e].exact = false
}
