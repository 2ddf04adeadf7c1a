package rules

import (
	"cmp"
	"maps"

	"github.com/calldibs/dibs"
)

func (p *preparer) claim(c dibs.Claim) (decision, *dibs.Error) {
	t, err := p.newTarget(c.Namespace, c.Value, c.Field, c.OverrideReserved)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(t.about(checkEntity(c.Entity)), t.checkDetails(c.CorrelationID, c.Meta)); err != nil {
		return nil, err
	}
	p.expectAbsent(entityRef(t.scope, c.Entity))
	meta := maps.Clone(c.Meta)
	return func(v *view) (dibs.Result, *dibs.Error) {
		n := v.name(t)
		if n.State == dibs.Active && v.owns(c.Entity, n) {
			return v.ownedResult(n, true), nil
		}
		if err := v.checkAvailable(t, n, c.Entity); err != nil {
			return dibs.Result{}, err
		}
		e := v.entity(t.scope, c.Entity)
		if err := cmp.Or(t.mayOwn(e), t.mayAdd(e)); err != nil {
			return dibs.Result{}, err
		}
		if err := v.beginEpoch(n, t); err != nil {
			return dibs.Result{}, err
		}
		n.Principal, n.CorrelationID, n.Meta = p.principal.Name, c.CorrelationID, meta
		v.makeActive(nil, n, e, t, dibs.EventClaimed)
		return v.ownedResult(n, false), nil
	}, nil
}
