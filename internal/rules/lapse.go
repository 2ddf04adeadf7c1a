package rules

import (
	"time"

	"github.com/calldibs/dibs"
)

// lapse is the end of a state whose time was over.
type lapse struct {
	kind   dibs.EventKind
	at     dibs.Instant // when it ended, not when it was noticed
	after  dibs.Snapshot
	lostBy dibs.Entity // the entity that lost the name, or zero
}

// lapse ends each state of the name whose time is over: a hold past its TTL, an alias past its
// retention, a quarantine past its date. One end may lead to the next. No sweep is needed: a name is
// free the instant its hold is over.
func (n *nameState) lapse(now dibs.Instant) {
	for {
		at := n.ends()
		if !at.Reached(now) {
			return
		}
		l := lapse{at: at}
		switch n.State {
		case dibs.Held:
			if n.Terms.Witnessed {
				l.kind = dibs.EventSuspected
				n.State, n.Status = dibs.Suspect, dibs.StatusSuspect
				n.Asked, n.AskAt, n.Doubt = 0, at, ""
			} else {
				l.kind = dibs.EventExpired
				n.endHold(dibs.StatusExpired, at)
			}
		case dibs.Alias:
			l.kind, l.lostBy = dibs.EventGivenUp, n.Owner
			n.giveUp(n.Terms.Quarantine, at)
		case dibs.Quarantined:
			l.kind = dibs.EventUnlocked
			n.State, n.Until = dibs.Free, 0
		case dibs.Free, dibs.Suspect, dibs.Active: // do not end by themselves
		}
		l.after = snapshotOf(&n.NameRecord)
		n.lapses = append(n.lapses, l)
	}
}

// ends returns when the name's state ends by itself, or zero if it does not.
func (n *nameState) ends() dibs.Instant {
	switch n.State {
	case dibs.Held:
		return n.ExpiresAt
	case dibs.Alias, dibs.Quarantined:
		return n.Until
	default:
		return 0
	}
}

// endHold ends a hold, or a suspect. A name that was reserved out of quarantine goes back into it,
// so that reserving and releasing a name does not shorten its quarantine.
func (n *nameState) endHold(status dibs.Status, at dibs.Instant) {
	n.Status, n.EndedAt = status, at
	n.AskAt, n.Doubt = 0, ""
	if n.Until > at {
		n.State = dibs.Quarantined
	} else {
		n.State, n.Until = dibs.Free, 0
	}
}

// giveUp ends an entity's ownership. The row keeps the entity as the last owner.
func (n *nameState) giveUp(quarantine time.Duration, at dibs.Instant) {
	n.Status, n.EndedAt = dibs.StatusReleased, at
	if quarantine > 0 {
		n.State, n.Until = dibs.Quarantined, at.Add(quarantine)
	} else {
		n.State, n.Until = dibs.Free, 0
	}
}

// lapsedAt returns the date of the last lapse that is not in the history yet, or zero.
func (n *nameState) lapsedAt() dibs.Instant {
	if count := len(n.lapses); count > 0 {
		return n.lapses[count-1].at
	}
	return 0
}

// nextDue returns when the sweeper has to visit the name.
func (n *nameState) nextDue() dibs.Instant {
	switch {
	case n.State == dibs.Suspect:
		return n.AskAt
	case n.State == dibs.Free && !n.Established:
		return n.EndedAt.Add(n.Terms.HoldHistory)
	default:
		return n.ends()
	}
}
