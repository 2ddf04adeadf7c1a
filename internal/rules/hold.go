package rules

import "github.com/calldibs/dibs"

// onHold prepares a command on a hold: decide gets the name that the token holds or
// held last. Who has another token, or is another principal, has lost it: the answer
// is the same, so that nobody learns which of the two was wrong.
func (p *preparer) onHold(c dibs.Command, id dibs.ID, token string, decide func(v *view, d *nameState, s *target) (dibs.Result, *dibs.Error)) (decision, *dibs.Error) {
	hash, err := hashToken(token)
	if err != nil {
		return nil, err
	}
	p.want(dibs.Ref{Kind: dibs.KindName, ID: id})
	return func(v *view) (dibs.Result, *dibs.Error) {
		d, s, err := p.existing(v, c, id)
		if err != nil {
			return dibs.Result{}, err
		}
		if !d.belongsTo(hash, p.principal) {
			return dibs.Result{}, s.refuse(dibs.CodeLost, "this token does not hold %s (any more)", s.key())
		}
		return decide(v, d, s)
	}, nil
}

// existing returns the name with this ID, and what its policy says of it. One that the
// principal may not do this to is answered like one that is not there: an ID can be
// computed from a name, so any difference would tell which names others have.
func (p *preparer) existing(v *view, c dibs.Command, id dibs.ID) (*nameState, *target, *dibs.Error) {
	d := v.followVisible(id, func(namespace string) bool { return p.principal.Allows(c, namespace) })
	if d == nil || d.forgotten() {
		return nil, nil, &dibs.Error{Code: dibs.CodeNotFound, Message: "there is no reservation " + id.String()}
	}
	space, err := p.policies.namespace(d.Namespace)
	if err != nil {
		return nil, nil, err
	}
	return d, &target{namespaceInfo: space, value: d.Value, canonical: d.Canonical, id: d.ID, field: space.kind}, nil
}

func (p *preparer) extend(c dibs.Extend) (decision, *dibs.Error) {
	return p.onHold(c, c.ID, c.Token, func(v *view, d *nameState, s *target) (dibs.Result, *dibs.Error) {
		if err := s.over(d); err != nil {
			return dibs.Result{}, err
		}
		ttl, err := s.policy.ttl(c.TTL)
		if err != nil {
			return dibs.Result{}, s.about(err)
		}
		expiresAt := v.now.Add(ttl)
		if limit := d.CreatedAt.Add(s.policy.MaxHold); expiresAt > limit {
			return dibs.Result{}, s.refuse(dibs.CodeTTLTooLong, "%s can be held until %s at the most, since it was reserved at %s", s.key(), limit, d.CreatedAt)
		}
		if d.State == dibs.Held && expiresAt <= d.ExpiresAt {
			return dibs.Result{Names: []dibs.Name{v.show(d)}, Replayed: true}, nil
		}
		d.State, d.Status, d.ExpiresAt = dibs.Held, dibs.StatusReserved, expiresAt
		v.narrow(0, expiresAt)
		d.AskAt, d.Doubt = 0, ""
		v.countHold(d)
		v.save(d, dibs.EventExtended)
		return dibs.Result{Names: []dibs.Name{v.show(d)}}, nil
	})
}

func (p *preparer) release(c dibs.Release) (decision, *dibs.Error) {
	return p.onHold(c, c.ID, c.Token, func(v *view, d *nameState, s *target) (dibs.Result, *dibs.Error) {
		if d.Status == dibs.StatusReleased && d.ConfirmedAt == 0 {
			return dibs.Result{Names: []dibs.Name{v.show(d)}, Replayed: true}, nil
		}
		if err := s.over(d); err != nil {
			return dibs.Result{}, err
		}
		v.uncountHold(d)
		d.endHold(dibs.StatusReleased, v.now)
		v.save(d, dibs.EventReleased)
		return dibs.Result{Names: []dibs.Name{v.show(d)}}, nil
	})
}

func (p *preparer) confirm(c dibs.Confirm) (decision, *dibs.Error) {
	if err := checkEntity(c.Entity); err != nil {
		return nil, err
	}
	// The scope is not known before the name is. Most have none.
	p.expectFresh(entityRef("", c.Entity))
	return p.onHold(c, c.ID, c.Token, func(v *view, d *nameState, s *target) (dibs.Result, *dibs.Error) {
		// Asked for before anything can be refused: in a list of many confirmations
		// each would otherwise ask only when those before it are decided.
		v.batch.expectFresh(entityRef(s.scope, c.Entity))
		if v.has(c.Entity, d) {
			return v.ownedResult(d, true), nil
		}
		if d.gaveUp() {
			return dibs.Result{}, s.refuse(dibs.CodeAlreadyReleased, "%s was confirmed, and given up since", s.key())
		}
		if err := s.over(d); err != nil {
			return dibs.Result{}, err
		}
		if err := p.confirmHold(v, d, s, c); err != nil {
			return dibs.Result{}, err
		}
		return v.ownedResult(d, false), nil
	})
}

// gaveUp reports whether the name was an entity's in this epoch and is no more.
func (d *nameState) gaveUp() bool {
	return d.ConfirmedAt != 0 && (d.State == dibs.Free || d.State == dibs.Quarantined)
}

// confirmHold makes a hold the active name of an entity, in place of another one if
// the command says so.
func (p *preparer) confirmHold(v *view, d *nameState, s *target, c dibs.Confirm) *dibs.Error {
	if err := s.intendedFor(d, c.Entity); err != nil {
		return err
	}
	e := v.entity(s.scope, c.Entity)
	if err := s.mayOwn(e); err != nil {
		return err
	}
	var old *nameState
	if c.Replace || c.Replaces != "" {
		var (
			which *target
			err   *dibs.Error
		)
		if c.Replaces != "" { // only now its namespace is known
			if which, err = p.address(s.namespace, c.Replaces, s.field); err != nil {
				return err
			}
		}
		if old, err = p.present(v, s, e, which); err != nil {
			return err
		}
	} else if err := s.mayAdd(e); err != nil {
		return err
	}
	v.uncountHold(d)
	v.succeed(old, d, e, s, dibs.EventConfirmed)
	return nil
}

// intendedFor refuses a hold to another entity than the one it was reserved for.
func (s *target) intendedFor(d *nameState, entity dibs.Entity) *dibs.Error {
	if !d.Intended.IsZero() && d.Intended != entity {
		return s.refuse(dibs.CodeNotOwner, "%s was reserved for another entity than %s", s.key(), entity)
	}
	return nil
}

// ownedResult is the result of a command that gave a name to an entity.
func (v *view) ownedResult(d *nameState, replayed bool) dibs.Result {
	name := v.show(d)
	name.Version = v.entity(d.Scope, d.Owner).Rev
	return dibs.Result{Names: []dibs.Name{name}, Replayed: replayed, Version: name.Version}
}
