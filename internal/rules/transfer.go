package rules

import (
	"cmp"

	"github.com/calldibs/dibs"
)

func (p *preparer) transfer(c dibs.Transfer) (decision, *dibs.Error) {
	t, err := p.target(c.Namespace, c.Value, "")
	if err != nil {
		return nil, err
	}
	for _, entity := range []dibs.Entity{c.From, c.To} {
		if err := checkEntity(entity); err != nil {
			return nil, t.about(err)
		}
		p.want(entityRef(t.scope, entity))
	}
	return func(v *view) (dibs.Result, *dibs.Error) {
		n := v.name(t)
		if v.owns(c.To, n) {
			return v.ownedResult(n, true), nil
		}
		if err := t.checkOwnedBy(n, c.From); err != nil {
			return dibs.Result{}, err
		}
		from, to := v.entity(t.scope, c.From), v.entity(t.scope, c.To)
		if err := cmp.Or(from.mayGive(), t.mayOwn(from), t.mayOwn(to), t.mayAdd(to)); err != nil {
			return dibs.Result{}, err
		}
		if err := v.mayHandOver(t, n, c.To); err != nil {
			return dibs.Result{}, err
		}
		from.deactivate(n)
		var line dibs.ID
		if t.policy.ManyPerEntity {
			line = newLine(n)
		}
		v.handOver(n, to, t, line)
		v.saveEntity(from)
		v.saveEntity(to)
		v.save(n, dibs.EventTransferred)
		return v.ownedResult(n, false), nil
	}, nil
}

// handOver gives an owned name to another entity, as its active name. A new owner begins a new
// epoch, so that other systems can tell the two apart.
func (v *view) handOver(n *nameState, to entityState, t *target, line dibs.ID) {
	n.Epoch++
	n.CreatedAt = v.now
	v.activate(n, to, t, line)
}
