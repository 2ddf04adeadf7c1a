package dibs

import "time"

// lapse is something that ended by itself, because its time was over.
type lapse struct {
	kind   EventKind
	at     Instant // when it ended, whoever noticed it when
	after  Snapshot
	leaves Entity // the entity that lost the name by it, or none
}

// lapse ends everything about a name that is over now: a hold whose time ran out,
// an alias past its retention, a quarantine past its date. One may lead to the
// next. Nobody has to sweep for it: a name is free the instant its hold is over.
func (d *draft) lapse(now Instant) {
	for {
		at := d.ends()
		if !at.Reached(now) {
			return
		}
		l := lapse{at: at}
		switch d.State {
		case Held:
			if d.Terms.Witnessed {
				l.kind = EventSuspected
				d.State, d.Status = Suspect, StatusSuspect
				d.Asked, d.AskAt, d.Doubt = 0, at, ""
			} else {
				l.kind = EventExpired
				d.endHold(StatusExpired, at)
			}
		case Alias:
			l.kind, l.leaves = EventGivenUp, d.Owner
			d.giveUp(d.Terms.Quarantine, at)
		case Quarantined:
			l.kind = EventUnlocked
			d.State, d.Until = Free, 0
		case Free, Suspect, Active: // have no end
		}
		l.after = snapshotOf(&d.NameRecord)
		d.lapses = append(d.lapses, l)
	}
}

// lapsedAt returns when the last thing ended by itself that is not in the history yet, or
// zero if there is none.
func (d *draft) lapsedAt() Instant {
	if n := len(d.lapses); n > 0 {
		return d.lapses[n-1].at
	}
	return 0
}

// ends returns when the name's state ends by itself, or zero if it does not.
func (d *draft) ends() Instant {
	switch d.State {
	case Held:
		return d.ExpiresAt
	case Alias, Quarantined:
		return d.Until
	default:
		return 0
	}
}

// endHold ends a hold or a suspect. One that was taken out of quarantine goes back
// into it, so that nobody can launder a name by reserving and releasing it.
func (d *draft) endHold(status Status, at Instant) {
	d.Status, d.EndedAt = status, at
	d.AskAt, d.Doubt = 0, ""
	if d.Until > at {
		d.State = Quarantined
	} else {
		d.State, d.Until = Free, 0
	}
}

// giveUp ends an entity's ownership. The entity stays on the row as the last one.
func (d *draft) giveUp(quarantine time.Duration, at Instant) {
	d.Status, d.EndedAt = StatusReleased, at
	if quarantine > 0 {
		d.State, d.Until = Quarantined, at.Add(quarantine)
	} else {
		d.State, d.Until = Free, 0
	}
}

// nextDue returns when the sweeper has to look at the name.
func (d *draft) nextDue() Instant {
	switch {
	case d.State == Suspect:
		return d.AskAt
	case d.State == Free && !d.Established:
		return d.EndedAt.Add(d.Terms.HoldHistory)
	default:
		return d.ends()
	}
}
