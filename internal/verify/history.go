package verify

import (
	"fmt"
	"slices"

	"github.com/calldibs/dibs"
)

// history replays the events of a name.
type history struct {
	label  // of the events
	events int
	last   eventFact
}

// step is what an event does to a name.
type step struct {
	from, to []dibs.State // none means any
	newEpoch bool         // it begins a hold or an ownership
}

var (
	available = []dibs.State{dibs.Free, dibs.Quarantined}
	live      = []dibs.State{dibs.Held, dibs.Suspect}
	owned     = []dibs.State{dibs.Active, dibs.Alias}
	active    = []dibs.State{dibs.Active}
)

// steps are the life of a name: see the diagram in docs/concepts.md.
var steps = map[dibs.EventKind]step{
	dibs.EventReserved:    {available, []dibs.State{dibs.Held}, true},
	dibs.EventExtended:    {live, []dibs.State{dibs.Held}, false},
	dibs.EventConfirmed:   {live, active, false},
	dibs.EventClaimed:     {available, active, true},
	dibs.EventImported:    {available, owned, true},
	dibs.EventReleased:    {live, available, false},
	dibs.EventExpired:     {live, available, false},
	dibs.EventSuspected:   {[]dibs.State{dibs.Held}, []dibs.State{dibs.Suspect}, false},
	dibs.EventDemoted:     {active, []dibs.State{dibs.Alias}, false},
	dibs.EventRevived:     {[]dibs.State{dibs.Alias}, active, false},
	dibs.EventRespelled:   {active, active, false},
	dibs.EventGivenUp:     {owned, available, false},
	dibs.EventUnlocked:    {[]dibs.State{dibs.Quarantined}, []dibs.State{dibs.Free}, false},
	dibs.EventTransferred: {owned, active, true},
	dibs.EventMoved:       {}, // out of any state, and into it
	dibs.EventForgotten:   {}, // a notice, or a tombstone
}

// next replays an event.
func (h *history) next(c *checker, n *comparedName, e eventFact) {
	if h.events == 0 {
		h.label = e.label
		if n.row == nil {
			c.find(orphanEvent, n.finding("there are events of a name that has no row; the first is %q", e.kind))
		}
	}
	if n.row != nil && e.label != n.row.label {
		f := n.finding("event %d has another name", e.rev)
		c.find(eventName, f.differs(shownLabel(e.key()), shownLabel(n.row.key())))
	}
	h.checkOrder(c, n, e)
	h.checkGap(c, n, e)
	h.checkStep(c, n, e)
	h.events++
	h.last = e
}

func (h *history) checkOrder(c *checker, n *comparedName, e eventFact) {
	if h.events > 0 && e.rev <= h.last.rev {
		f := n.finding("the event %q comes after one with a higher revision", e.kind)
		c.find(eventOrder, f.differs(e.rev, fmt.Sprintf("above %d", h.last.rev)))
	}
	if e.epoch != e.after.Epoch {
		c.find(eventEpoch, n.finding("the event %q of revision %d has two epochs", e.kind, e.rev).differs(e.epoch, e.after.Epoch))
	}
	least := e.before.Epoch
	if steps[e.kind].newEpoch {
		least++
	}
	if e.after.Epoch < least {
		f := n.finding("the epoch goes back, or is used again, with the event %q of revision %d", e.kind, e.rev)
		c.find(eventEpoch, f.differs(e.after.Epoch, fmt.Sprintf("at least %d", least)))
	}
}

// checkGap checks that the event begins where the last one ended. Entities that were forgotten are
// missing in some events.
func (h *history) checkGap(c *checker, n *comparedName, e eventFact) {
	if h.events == 0 {
		if e.before.State != dibs.Free && e.kind != dibs.EventForgotten {
			f := n.finding("the history begins with %q, and the events before it are missing", e.kind)
			c.find(historyGap, f.differs(e.before.State, dibs.Free))
		}
		return
	}
	before, after := e.before, h.last.after
	if before.Entity.IsZero() || after.Entity.IsZero() {
		before.Entity, after.Entity = dibs.Entity{}, dibs.Entity{}
	}
	if before != after {
		f := n.finding("between revision %d, %q, and revision %d, %q, events are missing or were changed", h.last.rev, h.last.kind, e.rev, e.kind)
		c.find(historyGap, f.differs(snapshotText(before), snapshotText(after)))
	}
}

func (h *history) checkStep(c *checker, n *comparedName, e eventFact) {
	s, known := steps[e.kind]
	if !known {
		c.find(eventStep, n.finding("there is no event %q about a name", e.kind))
		return
	}
	allows := func(states []dibs.State, state dibs.State) bool {
		return len(states) == 0 || slices.Contains(states, state)
	}
	if !allows(s.from, e.before.State) || !allows(s.to, e.after.State) {
		f := n.finding("the event %q of revision %d cannot lead from one state to the other", e.kind, e.rev)
		f.Found = fmt.Sprintf("%s → %s", e.before.State, e.after.State)
		c.find(eventStep, f)
	}
}

// end compares what the events give with the row.
func (h *history) end(c *checker, n *comparedName) {
	if n.row == nil {
		return
	}
	if h.events == 0 {
		c.find(hasHistory, n.finding("the name has no event: it is not known how it came to be"))
		return
	}
	if h.last.rev > n.row.rev {
		c.find(eventOrder, n.finding("the row is older than the last event of the name").differs(n.row.rev, fmt.Sprintf("at least %d", h.last.rev)))
	}
	switch {
	case h.last.after != n.row.now:
		f := n.finding("the row is not what its events give; the last is %q, of revision %d", h.last.kind, h.last.rev)
		c.find(replayedName, f.differs(snapshotText(n.row.now), snapshotText(h.last.after)))
	case h.last.value != n.row.value:
		f := n.finding("the row is written differently than in its last event")
		c.find(replayedName, f.differs(quoted(n.row.value), quoted(h.last.value)))
	}
}

// snapshotText returns a state for people.
func snapshotText(s dibs.Snapshot) string {
	text := fmt.Sprintf("%s (%s), epoch %d", s.State, s.Status, s.Epoch)
	if !s.Entity.IsZero() {
		text += ", of " + s.Entity.String()
	}
	if s.Until != 0 {
		text += ", until " + s.Until.String()
	}
	return text
}
