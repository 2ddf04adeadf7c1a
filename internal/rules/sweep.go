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
	return newJob(p, func(v *view) (Swept, *dibs.Error) {
		if v.absent(ref) { // another sweep was faster
			return Swept{}, nil
		}
		switch ref.Kind {
		case dibs.KindName:
			return p.sweepName(v, ref)
		case dibs.KindEntity:
			return Swept{Changed: p.sweepEntity(v, ref)}, nil
		default:
			return Swept{Changed: sweepDocument(v, ref)}, nil
		}
	})
}

// sweepName writes into the row and the history what ended by itself, and purges a name that was
// never confirmed and is old enough. A suspect is only reported: its witness is asked outside of
// any decision.
func (p *preparer) sweepName(v *view, ref dibs.Ref) (result Swept, err *dibs.Error) {
	n := v.nameByID(ref.ID, ref.Scope)
	if n.State == dibs.Suspect && n.AskAt.Reached(v.now) { // otherwise the witness was just asked
		name := v.show(n)
		result.Suspect = &name
	}
	purgeAt := n.nextDue()
	switch {
	case len(n.lapses) > 0:
		v.saveLapses(n)
	case n.State == dibs.Free && !n.Established && purgeAt.Reached(v.now):
		ns, err := p.policies.namespace(n.Namespace)
		if err != nil {
			return Swept{}, err
		}
		v.narrow(purgeAt, 0)
		if err := v.purge(n, ns); err != nil {
			return Swept{}, err
		}
	default:
		return result, nil
	}
	result.Changed = true
	return result, nil
}

// sweepEntity gives up the next names of an entity that was deleted with more names than one
// command may touch. It reports whether it changed anything.
func (p *preparer) sweepEntity(v *view, ref dibs.Ref) bool {
	r := v.get(ref).(*dibs.EntityRecord)
	if !r.Due.Reached(v.now) {
		return false
	}
	if isForgotten(r) {
		v.put(ref, nil)
		return true
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
	return true
}

// sweepDocument deletes a document that is no longer needed. It reports whether it did.
func sweepDocument(v *view, ref dibs.Ref) bool {
	if doc := v.get(ref).(*dibs.Document); !doc.Due.Reached(v.now) {
		return false
	}
	v.put(ref, nil)
	return true
}
