package dibs

import "fmt"

func (c Sweep) prepare(p *preparer) (decision, *Error) {
	switch {
	case c.Limit < 1:
		return nil, &Error{Code: CodeInvalidValue, Message: fmt.Sprintf("a sweep's limit is %d, it must be at least 1", c.Limit)}
	case c.Limit > maxNames:
		return nil, &Error{Code: CodeTooLarge, Message: fmt.Sprintf("a sweep of %d records is more than the %d that one command may touch: use Registry.Sweep", c.Limit, maxNames)}
	}
	return func(v *view) (Result, *Error) {
		result := Result{Replayed: true}
		for i, ref := range v.due(c.Limit) {
			if ref.Kind == KindEntity && i > 0 {
				break // its names take a command of their own
			}
			one, err := p.sweepOne(ref)(v)
			if err != nil {
				return Result{}, err
			}
			result.Replayed = result.Replayed && one.Replayed
			result.Freed = append(result.Freed, one.Freed...)
			result.Quarantined = append(result.Quarantined, one.Quarantined...)
			if ref.Kind == KindEntity {
				break
			}
			if ref.Kind == KindName && !one.Replayed {
				if d := v.nameByID(ref.ID, ref.Scope); d != nil {
					result.Names = append(result.Names, v.show(d))
				}
			}
		}
		return result, nil
	}, nil
}

// sweepOne is the registry's own decision about a record whose date has come.
func (p *preparer) sweepOne(ref Ref) decision {
	p.want(ref)
	return func(v *view) (Result, *Error) {
		if v.absent(ref) { // somebody was faster
			return Result{Replayed: true}, nil
		}
		switch ref.Kind {
		case KindName:
			return p.sweepName(v, ref)
		case KindEntity:
			return p.sweepEntity(v, ref)
		default:
			return sweepDocument(v, ref)
		}
	}
}

// sweepName puts into the row and the history what ended by itself, and purges
// what was never confirmed and is old enough. A suspect is only reported: its
// witness is asked outside of any decision.
func (p *preparer) sweepName(v *view, ref Ref) (Result, *Error) {
	d := v.nameByID(ref.ID, ref.Scope)
	var result Result
	if d.State == Suspect && d.AskAt.over(v.now) { // else somebody has just asked
		result.Names = []Name{v.show(d)}
	}
	purgeAt := d.nextDue()
	switch {
	case len(d.lapses) > 0:
		v.saveLapses(d)
	case d.State == Free && !d.Established && purgeAt.over(v.now):
		space, err := p.policies.space(d.Namespace)
		if err != nil {
			return Result{}, err
		}
		v.narrow(purgeAt, 0)
		if err := v.purge(d, space); err != nil {
			return Result{}, err
		}
	default:
		result.Replayed = true
	}
	return result, nil
}

// sweepEntity gives up the next names of an entity that was deleted with more than
// one command may touch.
func (p *preparer) sweepEntity(v *view, ref Ref) (Result, *Error) {
	r := v.get(ref).(*EntityRecord)
	if !r.Due.over(v.now) {
		return Result{Replayed: true}, nil
	}
	if r.forgotten() {
		v.put(ref, nil)
		return Result{}, nil
	}
	e := v.entity(r.Scope, r.Entity)
	ids, more := v.namesOf(r.Scope, r.Entity)
	if more {
		ids = ids[:maxNames]
	} else {
		e.Due = 0
	}
	result := p.leaveAll(v, e, ids)
	v.saveEntity(e)
	return result, nil
}

// sweepDocument removes a document that has done its service.
func sweepDocument(v *view, ref Ref) (Result, *Error) {
	doc := v.get(ref).(*Document)
	if !doc.Due.over(v.now) {
		return Result{Replayed: true}, nil
	}
	v.put(ref, nil)
	return Result{}, nil
}
