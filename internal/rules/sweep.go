package rules

import "github.com/calldibs/dibs"

// Swept is the outcome of [Policies.Sweep].
type Swept struct {
	Changed bool
	Suspect *dibs.Name // whose witness has to be asked
}

// Sweep writes the ends of a record that is due, or purges the record.
func (set *Policies) Sweep(ref dibs.Ref) *Job[Swept] {
	p := set.preparer(ref)
	return newJob(p, func(v *view) (swept Swept, _ *dibs.Error) {
		if v.absent(ref) { // another sweep was faster
			return Swept{}, nil
		}
		switch r := v.get(ref).(type) {
		case *dibs.NameRecord:
			swept.Suspect = v.sweepName(ref)
		case *dibs.EntityRecord:
			if r.Due.Reached(v.now) {
				p.sweepEntity(v, r)
			}
		case *dibs.Document:
			if r.Due.Reached(v.now) {
				v.put(ref, nil)
			}
		}
		swept.Changed = len(v.changes) > 0
		return swept, nil
	})
}

// sweepName writes into the row and the history what ended by itself, and purges a name that was
// never confirmed and is old enough. A suspect is only returned: its witness is asked outside of
// any decision.
func (v *view) sweepName(ref dibs.Ref) (suspect *dibs.Name) {
	n := v.nameByID(ref.ID, ref.Scope)
	if n.State == dibs.Suspect && n.AskAt.Reached(v.now) { // otherwise the witness was just asked
		suspect = new(n.show(v.now))
	}
	purgeAt := n.nextDue()
	if len(n.lapses) == 0 && n.State == dibs.Free && !n.Established && purgeAt.Reached(v.now) {
		v.narrow(purgeAt, 0)
		v.raiseRecord(n.Namespace, n.Epoch, max(n.Rev, v.removeFromIndex(n)))
		v.put(n.Ref(), nil)
	}
	v.saveLapses(n)
	return suspect
}

// sweepEntity gives up the next names of an entity that was deleted with more names than one
// command may touch.
func (p *preparer) sweepEntity(v *view, r *dibs.EntityRecord) {
	if isForgotten(r) {
		v.put(r.Ref(), nil)
		return
	}
	e := v.entity(r.Scope, r.Entity)
	ids, more := v.namesOf(r.Scope, r.Entity)
	if more {
		ids = ids[:maxNames]
	} else {
		e.Due = 0
	}
	p.giveUpAll(v, e, ids)
	v.saveEntity(e)
}
