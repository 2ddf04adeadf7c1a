package rules

import "github.com/calldibs/dibs"

func (p *preparer) delete(c dibs.Delete) (decision, *dibs.Error) {
	if err := p.prepareEntity(c.Scope, c.Entity); err != nil {
		return nil, err
	}
	return func(v *view) (dibs.Result, *dibs.Error) {
		e := v.entity(c.Scope, c.Entity)
		if e.Deleted {
			return dibs.Result{Version: e.Rev, Replayed: true, Pending: e.Due != 0}, nil
		}
		if e.Rev == 0 {
			return dibs.Result{}, notFound(c.Entity, "it never had a name in this scope")
		}
		e.Deleted, e.Archived = true, false
		ids, more := v.namesOf(c.Scope, c.Entity)
		if more {
			// Too many for one command: mark the entity, so that its names no longer resolve, and let
			// the sweeper do the rest.
			e.Due = v.now
			v.saveEntityEvent(e, dibs.EventDeleted)
			return dibs.Result{Version: v.entity(c.Scope, c.Entity).Rev, Pending: true}, nil
		}
		result := p.giveUpAll(v, e, ids)
		v.saveEntityEvent(e, dibs.EventDeleted)
		result.Version = v.entity(c.Scope, c.Entity).Rev
		return result, nil
	}, nil
}
