package rules

import (
	"time"

	"github.com/calldibs/dibs"
)

// lapse is something that ended by itself, because its time was over.
type lapse struct {
	kind   dibs.EventKind
	at     dibs.Instant // when it ended, whoever noticed it when
	after  dibs.Snapshot
	leaves dibs.Entity // the entity that lost the name by it, or none
}

// lapse ends everything about a name that is over now: a hold whose time ran out,
// an alias past its retention, a quarantine past its date. One may lead to the
// next. Nobody has to sweep for it: a name is free the instant its hold is over.
func (d *nameState) lapse(now dibs.Instant) {
	for {
		at := d.ends()
		if !at.Reached(now) {
			return
		}
		l := lapse{at: at}
		switch d.State {
		case dibs.Held:
			if d.Terms.Witnessed {
				l.kind = dibs.EventSuspected
				d.State, d.Status = dibs.Suspect, dibs.StatusSuspect
				d.Asked, d.AskAt, d.Doubt = 0, at, ""
			} else {
				l.kind = dibs.EventExpired
				d.endHold(dibs.StatusExpired, at)
			}
		case dibs.Alias:
			l.kind, l.leaves = dibs.EventGivenUp, d.Owner
			d.giveUp(d.Terms.Quarantine, at)
		case dibs.Quarantined:
			l.kind = dibs.EventUnlocked
			d.State, d.Until = dibs.Free, 0
		case dibs.Free, dibs.Suspect, dibs.Active: // have no end
		}
		l.after = snapshotOf(&d.NameRecord)
		d.lapses = append(d.lapses, l)
	}
}

// lapsedAt returns when the last thing ended by itself that is not in the history yet, or
// zero if there is none.
func (d *nameState) lapsedAt() dibs.Instant {
	if n := len(d.lapses); n > 0 {
		return d.lapses[n-1].at
	}
	return 0
}

// ends returns when the name's state ends by itself, or zero if it does not.
func (d *nameState) ends() dibs.Instant {
	switch d.State {
	case dibs.Held:
		return d.ExpiresAt
	case dibs.Alias, dibs.Quarantined:
		return d.Until
	default:
		return 0
	}
}

// endHold ends a hold or a suspect. One that was taken out of quarantine goes back
// into it, so that nobody can launder a name by reserving and releasing it.
func (d *nameState) endHold(status dibs.Status, at dibs.Instant) {
	d.Status, d.EndedAt = status, at
	d.AskAt, d.Doubt = 0, ""
	if d.Until > at {
		d.State = dibs.Quarantined
	} else {
		d.State, d.Until = dibs.Free, 0
	}
}

// giveUp ends an entity's ownership. The entity stays on the row as the last one.
func (d *nameState) giveUp(quarantine time.Duration, at dibs.Instant) {
	d.Status, d.EndedAt = dibs.StatusReleased, at
	if quarantine > 0 {
		d.State, d.Until = dibs.Quarantined, at.Add(quarantine)
	} else {
		d.State, d.Until = dibs.Free, 0
	}
}

// nextDue returns when the sweeper has to look at the name.
func (d *nameState) nextDue() dibs.Instant {
	switch {
	case d.State == dibs.Suspect:
		return d.AskAt
	case d.State == dibs.Free && !d.Established:
		return d.EndedAt.Add(d.Terms.HoldHistory)
	default:
		return d.ends()
	}
}
