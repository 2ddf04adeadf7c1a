package rules

import "github.com/calldibs/dibs"

func (p *preparer) transfer(c dibs.Transfer) (decision, *dibs.Error) {
	s, err := p.address(c.Namespace, c.Value, "")
	if err != nil {
		return nil, err
	}
	for _, entity := range []dibs.Entity{c.From, c.To} {
		if err := checkEntity(entity); err != nil {
			return nil, s.about(err)
		}
		p.wantEntity(s.scope, entity)
	}
	return func(v *view) (dibs.Result, *dibs.Error) {
		d := v.name(s)
		if v.has(c.To, d) {
			return v.ownedResult(d, true), nil
		}
		if err := s.ownedBy(d, c.From); err != nil {
			return dibs.Result{}, err
		}
		from, to := v.entity(s.scope, c.From), v.entity(s.scope, c.To)
		if err := mayGive(from); err != nil {
			return dibs.Result{}, err
		}
		if err := s.mayAllOwn(from, to); err != nil {
			return dibs.Result{}, err
		}
		if err := s.mayAdd(to); err != nil {
			return dibs.Result{}, err
		}
		if err := v.mayGo(s, d, c.To); err != nil {
			return dibs.Result{}, err
		}
		if from.Active[d.slot()] == d.ID {
			delete(from.Active, d.slot())
		}
		var line dibs.ID
		if s.policy.ManyPerEntity {
			line = newLine(d)
		}
		v.handOver(d, to, s, line)
		v.saveEntity(from)
		v.saveEntity(to)
		v.save(d, dibs.EventTransferred)
		return v.ownedResult(d, false), nil
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
func (s *target) mayAllOwn(entities ...entityState) *dibs.Error {
	for _, e := range entities {
		if err := s.mayOwn(e); err != nil {
			return err
		}
	}
	return nil
}

// handOver gives an owned name to another entity, as its active name. A new owner
// is a new epoch: whatever stands downstream can tell the two apart.
func (v *view) handOver(d *nameState, to entityState, s *target, line dibs.ID) {
	d.Epoch++
	d.CreatedAt = v.now
	v.activate(d, to, s, line)
}

func (p *preparer) swap(c dibs.Swap) (decision, *dibs.Error) {
	a, err := p.address(c.Namespace, c.A.Value, "a")
	if err != nil {
		return nil, err
	}
	b, err := p.address(c.Namespace, c.B.Value, "b")
	if err != nil {
		return nil, err
	}
	if err := checkEntity(c.A.Entity); err != nil {
		return nil, a.about(err)
	}
	if err := checkEntity(c.B.Entity); err != nil {
		return nil, b.about(err)
	}
	if c.A.Entity == c.B.Entity {
		return nil, a.refuse(dibs.CodeInvalidEntity, "a swap takes two entities, both are %s", c.A.Entity)
	}
	if a.id == b.id {
		return nil, a.refuse(dibs.CodeInvalidValue, "a swap takes two names, both are %s", a.key())
	}
	p.wantEntity(a.scope, c.A.Entity)
	p.wantEntity(b.scope, c.B.Entity)
	return func(v *view) (dibs.Result, *dibs.Error) {
		da, db := v.name(a), v.name(b)
		if da.State == dibs.Active && v.has(c.B.Entity, da) && db.State == dibs.Active && v.has(c.A.Entity, db) {
			return v.swapResult(da, db, true), nil
		}
		for _, side := range []struct {
			s *target
			d *nameState
			e dibs.Entity
		}{{a, da, c.A.Entity}, {b, db, c.B.Entity}} {
			if !side.d.activeOf(side.e) {
				return dibs.Result{}, side.s.refuse(dibs.CodeNotOwner, "%s is not the active name of %s", side.s.key(), side.e)
			}
		}
		ea, eb := v.entity(a.scope, c.A.Entity), v.entity(b.scope, c.B.Entity)
		if err := mayGive(ea, eb); err != nil {
			return dibs.Result{}, err
		}
		if err := a.mayAllOwn(ea, eb); err != nil {
			return dibs.Result{}, err
		}
		if err := a.mayReplace(ea, da.ID); err != nil {
			return dibs.Result{}, err
		}
		if err := b.mayReplace(eb, db.ID); err != nil {
			return dibs.Result{}, err
		}
		if err := v.mayGo(a, da, c.B.Entity); err != nil {
			return dibs.Result{}, err
		}
		if err := v.mayGo(b, db, c.A.Entity); err != nil {
			return dibs.Result{}, err
		}
		// Each name takes the other's place, aliases and all.
		lineA, lineB := da.Line, db.Line
		delete(ea.Active, da.slot())
		delete(eb.Active, db.slot())
		v.handOver(da, eb, a, lineB)
		v.handOver(db, ea, b, lineA)
		v.saveEntity(ea)
		v.saveEntity(eb)
		v.save(da, dibs.EventTransferred)
		v.save(db, dibs.EventTransferred)
		return v.swapResult(da, db, false), nil
	}, nil
}

func (d *nameState) activeOf(entity dibs.Entity) bool {
	return d.State == dibs.Active && d.Owner == entity
}

func (v *view) swapResult(a, b *nameState, replayed bool) dibs.Result {
	return dibs.Result{Names: []dibs.Name{v.show(a), v.show(b)}, Replayed: replayed}
}
