package dibs

// swept is what a sweep of one record came to.
type swept struct {
	changed bool
	suspect *Name // its witness has to be asked
}

// sweep ends what is over about a record whose date has come.
func (set *policies) sweep(ref Ref) *job[swept] {
	p := &preparer{policies: set}
	p.want(ref)
	return newJob(p, func(v *view) (swept, *Error) {
		if v.absent(ref) { // another sweep was faster
			return swept{}, nil
		}
		switch ref.Kind {
		case KindName:
			return p.sweepName(v, ref)
		case KindEntity:
			return swept{changed: p.sweepEntity(v, ref)}, nil
		default:
			return swept{changed: sweepDocument(v, ref)}, nil
		}
	})
}

// sweepName writes into the row and the history what ended by itself, and purges a name that
// was never confirmed and is old enough. A suspect is only reported: its witness is asked
// outside of any decision.
func (p *preparer) sweepName(v *view, ref Ref) (result swept, err *Error) {
	d := v.nameByID(ref.ID, ref.Scope)
	if d.State == Suspect && d.AskAt.Reached(v.now) { // else it was asked a moment ago
		name := v.show(d)
		result.suspect = &name
	}
	purgeAt := d.nextDue()
	switch {
	case len(d.lapses) > 0:
		v.saveLapses(d)
	case d.State == Free && !d.Established && purgeAt.Reached(v.now):
		space, err := p.policies.space(d.Namespace)
		if err != nil {
			return swept{}, err
		}
		v.narrow(purgeAt, 0)
		if err := v.purge(d, space); err != nil {
			return swept{}, err
		}
	default:
		return result, nil
	}
	result.changed = true
	return result, nil
}

// sweepEntity gives up the next names of an entity that was deleted with more names than one
// command may touch. It reports whether it changed anything.
func (p *preparer) sweepEntity(v *view, ref Ref) bool {
	r := v.get(ref).(*EntityRecord)
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
	p.leaveAll(v, e, ids)
	v.saveEntity(e)
	return true
}

// sweepDocument deletes a document that is not needed any more. It reports whether it did.
func sweepDocument(v *view, ref Ref) bool {
	if doc := v.get(ref).(*Document); !doc.Due.Reached(v.now) {
		return false
	}
	v.put(ref, nil)
	return true
}
