package rules

import (
	"cmp"

	"github.com/calldibs/dibs"
)

func (p *preparer) transfer(c dibs.Transfer) decision {
	t := p.target(c.Namespace, c.Value, "")
	p.check(t.about(cmp.Or(checkEntity(c.From), checkEntity(c.To))))
	p.want(entityRef(t.scope, c.From), entityRef(t.scope, c.To))
	return func(v *view) (dibs.Result, *dibs.Error) {
		n := v.name(t)
		if v.owns(c.To, n) {
			return v.ownedResult(n, true), nil
		}
		from, to := v.entity(t.scope, c.From), v.entity(t.scope, c.To)
		if err := cmp.Or(t.checkOwnedBy(n, c.From), from.mayGive(), t.mayOwn(from), t.mayOwn(to), t.mayAdd(to)); err != nil {
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
	}
}

// handOver gives an owned name to another entity, as its active name. A new owner begins a new
// epoch, so that other systems can tell the two apart.
func (v *view) handOver(n *nameState, to entityState, t *target, line dibs.ID) {
	n.Epoch++
	n.CreatedAt = v.now
	v.activate(n, to, t, line)
}

func (p *preparer) swap(c dibs.Swap) decision {
	ta, tb := p.target(c.Namespace, c.A.Value, "a"), p.target(c.Namespace, c.B.Value, "b")
	p.check(cmp.Or(ta.about(checkEntity(c.A.Entity)), tb.about(checkEntity(c.B.Entity))))
	if c.A.Entity == c.B.Entity {
		p.check(ta.refuse(dibs.CodeInvalidEntity, "a swap needs two entities, both are %s", c.A.Entity))
	}
	if ta.id == tb.id {
		p.check(ta.refuse(dibs.CodeInvalidValue, "a swap needs two names, both are %s", ta.key()))
	}
	p.want(entityRef(ta.scope, c.A.Entity), entityRef(tb.scope, c.B.Entity))
	return func(v *view) (dibs.Result, *dibs.Error) {
		na, nb := v.name(ta), v.name(tb)
		if na.State == dibs.Active && v.owns(c.B.Entity, na) && nb.State == dibs.Active && v.owns(c.A.Entity, nb) {
			return v.result(true, na, nb), nil
		}
		if err := cmp.Or(ta.checkActiveOf(na, c.A.Entity), tb.checkActiveOf(nb, c.B.Entity)); err != nil {
			return dibs.Result{}, err
		}
		ea, eb := v.entity(ta.scope, c.A.Entity), v.entity(tb.scope, c.B.Entity)
		if err := cmp.Or(ea.mayGive(), eb.mayGive(), ta.mayOwn(ea), ta.mayOwn(eb), ta.mayReplace(ea, na.ID), tb.mayReplace(eb, nb.ID)); err != nil {
			return dibs.Result{}, err
		}
		if err := cmp.Or(v.mayHandOver(ta, na, c.B.Entity), v.mayHandOver(tb, nb, c.A.Entity)); err != nil {
			return dibs.Result{}, err
		}
		// Each name continues the other's line: aliases now lead to the other name.
		lineA, lineB := na.Line, nb.Line
		delete(ea.Active, na.slot())
		delete(eb.Active, nb.slot())
		v.handOver(na, eb, ta, lineB)
		v.handOver(nb, ea, tb, lineA)
		v.saveEntity(ea)
		v.saveEntity(eb)
		v.save(na, dibs.EventTransferred)
		v.save(nb, dibs.EventTransferred)
		return v.result(false, na, nb), nil
	}
}

// checkActiveOf refuses unless the name is the entity's active name.
func (t *target) checkActiveOf(n *nameState, entity dibs.Entity) *dibs.Error {
	if n.State == dibs.Active && n.Owner == entity {
		return nil
	}
	return t.refuse(dibs.CodeNotOwner, "%s is not the active name of %s", t.key(), entity)
}
