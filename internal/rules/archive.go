package rules

import "github.com/calldibs/dibs"

func (p *preparer) setArchived(scope string, entity dibs.Entity, archived bool, kind dibs.EventKind) (decision, *dibs.Error) {
	if err := p.prepareEntity(scope, entity); err != nil {
		return nil, err
	}
	return func(v *view) (dibs.Result, *dibs.Error) {
		e, err := v.existingEntity(scope, entity)
		if err != nil {
			return dibs.Result{}, err
		}
		if e.Archived == archived {
			return dibs.Result{Version: e.Rev, Replayed: true}, nil
		}
		e.Archived = archived
		v.saveEntityEvent(e, kind)
		return dibs.Result{Version: v.entity(scope, entity).Rev}, nil
	}, nil
}
