package rules

import "github.com/calldibs/dibs"

// swap prepares a Swap.
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

// swapResult returns the result of a Swap.
func (v *view) swapResult(a, b *nameState, replayed bool) dibs.Result {
	return dibs.Result{Names: []dibs.Name{v.show(a), v.show(b)}, Replayed: replayed}
}
