package rules

import "github.com/calldibs/dibs"

func (p *preparer) transfer(c dibs.Transfer) (decision, *dibs.Error) {
	t, err := p.target(c.Namespace, c.Value, "")
	if err != nil {
		return nil, err
	}
	for _, entity := range []dibs.Entity{c.From, c.To} {
		if err := checkEntity(entity); err != nil {
			return nil, t.about(err)
		}
		p.wantEntity(t.scope, entity)
	}
	return func(v *view) (dibs.Result, *dibs.Error) {
		n := v.name(t)
		if v.owns(c.To, n) {
			return v.ownedResult(n, true), nil
		}
		if err := t.ownedBy(n, c.From); err != nil {
			return dibs.Result{}, err
		}
		from, to := v.entity(t.scope, c.From), v.entity(t.scope, c.To)
		if err := mayGive(from); err != nil {
			return dibs.Result{}, err
		}
		if err := t.allMayOwn(from, to); err != nil {
			return dibs.Result{}, err
		}
		if err := t.mayAdd(to); err != nil {
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

// mayGive refuses if one of the entities that give a name was deleted.
func mayGive(entities ...entityState) *dibs.Error {
	for _, e := range entities {
		if e.Deleted {
			return notFound(e.Entity, "it was deleted")
		}
	}
	return nil
}

// mayAllOwn is mayOwn for several.
func (t *target) allMayOwn(entities ...entityState) *dibs.Error {
	for _, e := range entities {
		if err := t.mayOwn(e); err != nil {
			return err
		}
	}
	return nil
}

// handOver gives an owned name to another entity, as its active name. A new owner
// is a new epoch: whatever stands downstream can tell the two apart.
func (v *view) handOver(n *nameState, to entityState, t *target, line dibs.ID) {
	n.Epoch++
	n.CreatedAt = v.now
	v.activate(n, to, t, line)
}

func (p *preparer) swap(c dibs.Swap) (decision, *dibs.Error) {
	ta, err := p.target(c.Namespace, c.A.Value, "a")
	if err != nil {
		return nil, err
	}
	tb, err := p.target(c.Namespace, c.B.Value, "b")
	if err != nil {
		return nil, err
	}
	if err := checkEntity(c.A.Entity); err != nil {
		return nil, ta.about(err)
	}
	if err := checkEntity(c.B.Entity); err != nil {
		return nil, tb.about(err)
	}
	if c.A.Entity == c.B.Entity {
		return nil, ta.refuse(dibs.CodeInvalidEntity, "a swap needs two entities, both are %s", c.A.Entity)
	}
	if ta.id == tb.id {
		return nil, ta.refuse(dibs.CodeInvalidValue, "a swap needs two names, both are %s", ta.key())
	}
	p.wantEntity(ta.scope, c.A.Entity)
	p.wantEntity(tb.scope, c.B.Entity)
	return func(v *view) (dibs.Result, *dibs.Error) {
		na, nb := v.name(ta), v.name(tb)
		if na.State == dibs.Active && v.owns(c.B.Entity, na) && nb.State == dibs.Active && v.owns(c.A.Entity, nb) {
			return v.swapResult(na, nb, true), nil
		}
		for _, side := range []struct {
			s *target
			d *nameState
			e dibs.Entity
		}{{ta, na, c.A.Entity}, {tb, nb, c.B.Entity}} {
			if !side.d.activeOf(side.e) {
				return dibs.Result{}, side.s.refuse(dibs.CodeNotOwner, "%s is not the active name of %s", side.s.key(), side.e)
			}
		}
		ea, eb := v.entity(ta.scope, c.A.Entity), v.entity(tb.scope, c.B.Entity)
		if err := mayGive(ea, eb); err != nil {
			return dibs.Result{}, err
		}
		if err := ta.allMayOwn(ea, eb); err != nil {
			return dibs.Result{}, err
		}
		if err := ta.mayReplace(ea, na.ID); err != nil {
			return dibs.Result{}, err
		}
		if err := tb.mayReplace(eb, nb.ID); err != nil {
			return dibs.Result{}, err
		}
		if err := v.mayHandOver(ta, na, c.B.Entity); err != nil {
			return dibs.Result{}, err
		}
		if err := v.mayHandOver(tb, nb, c.A.Entity); err != nil {
			return dibs.Result{}, err
		}
		// Each name takes the other's place, aliases and all.
		lineA, lineB := na.Line, nb.Line
		delete(ea.Active, na.slot())
		delete(eb.Active, nb.slot())
		v.handOver(na, eb, ta, lineB)
		v.handOver(nb, ea, tb, lineA)
		v.saveEntity(ea)
		v.saveEntity(eb)
		v.save(na, dibs.EventTransferred)
		v.save(nb, dibs.EventTransferred)
		return v.swapResult(na, nb, false), nil
	}, nil
}

func (n *nameState) activeOf(entity dibs.Entity) bool {
	return n.State == dibs.Active && n.Owner == entity
}

func (v *view) swapResult(a, b *nameState, replayed bool) dibs.Result {
	return dibs.Result{Names: []dibs.Name{v.show(a), v.show(b)}, Replayed: replayed}
}
