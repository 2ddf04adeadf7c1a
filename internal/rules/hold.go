package rules

import "github.com/calldibs/dibs"

// onHold prepares a command on a hold: decide gets the name that the token holds or
// held last. Who has another token, or is another principal, has lost it: the answer
// is the same, so that nobody learns which of the two was wrong.
func (p *preparer) onHold(c dibs.Command, id dibs.ID, token string, decide func(v *view, n *nameState, t *target) (dibs.Result, *dibs.Error)) (decision, *dibs.Error) {
	hash, err := hashToken(token)
	if err != nil {
		return nil, err
	}
	p.want(nameRef("", id))
	return func(v *view) (dibs.Result, *dibs.Error) {
		n, t, err := p.existingName(v, c, id)
		if err != nil {
			return dibs.Result{}, err
		}
		if !n.heldBy(hash, p.principal) {
			return dibs.Result{}, t.refuse(dibs.CodeLost, "this token does not hold %s, or no longer does", t.key())
		}
		return decide(v, n, t)
	}, nil
}

// existing returns the name with this ID, and what its policy says of it. One that the
// principal may not do this to is answered like one that is not there: an ID can be
// computed from a name, so any difference would tell which names others have.
func (p *preparer) existingName(v *view, c dibs.Command, id dibs.ID) (*nameState, *target, *dibs.Error) {
	n := v.followVisible(id, func(namespace string) bool { return p.principal.Allows(c, namespace) })
	if n == nil || n.forgotten() {
		return nil, nil, &dibs.Error{Code: dibs.CodeNotFound, Message: "there is no reservation " + id.String()}
	}
	ns, err := p.policies.namespace(n.Namespace)
	if err != nil {
		return nil, nil, err
	}
	return n, &target{namespaceInfo: ns, value: n.Value, canonical: n.Canonical, id: n.ID, field: ns.kind}, nil
}

func (p *preparer) extend(c dibs.Extend) (decision, *dibs.Error) {
	return p.onHold(c, c.ID, c.Token, func(v *view, n *nameState, t *target) (dibs.Result, *dibs.Error) {
		if err := t.checkLive(n); err != nil {
			return dibs.Result{}, err
		}
		ttl, err := t.policy.ttl(c.TTL)
		if err != nil {
			return dibs.Result{}, t.about(err)
		}
		expiresAt := v.now.Add(ttl)
		if limit := n.CreatedAt.Add(t.policy.MaxHold); expiresAt > limit {
			return dibs.Result{}, t.refuse(dibs.CodeTTLTooLong, "%s was reserved at %s and can be held until %s at most", t.key(), n.CreatedAt, limit)
		}
		if n.State == dibs.Held && expiresAt <= n.ExpiresAt {
			return v.result(n, true), nil
		}
		n.State, n.Status, n.ExpiresAt = dibs.Held, dibs.StatusReserved, expiresAt
		v.narrow(0, expiresAt)
		n.AskAt, n.Doubt = 0, ""
		v.countHold(n)
		v.save(n, dibs.EventExtended)
		return v.result(n, false), nil
	})
}

func (p *preparer) release(c dibs.Release) (decision, *dibs.Error) {
	return p.onHold(c, c.ID, c.Token, func(v *view, n *nameState, t *target) (dibs.Result, *dibs.Error) {
		if n.Status == dibs.StatusReleased && n.ConfirmedAt == 0 {
			return v.result(n, true), nil
		}
		if err := t.checkLive(n); err != nil {
			return dibs.Result{}, err
		}
		v.uncountHold(n)
		n.endHold(dibs.StatusReleased, v.now)
		v.save(n, dibs.EventReleased)
		return v.result(n, false), nil
	})
}

func (p *preparer) confirm(c dibs.Confirm) (decision, *dibs.Error) {
	if err := checkEntity(c.Entity); err != nil {
		return nil, err
	}
	// The scope is not known before the name is. Most have none.
	p.expectAbsent(entityRef("", c.Entity))
	return p.onHold(c, c.ID, c.Token, func(v *view, n *nameState, t *target) (dibs.Result, *dibs.Error) {
		// Asked for before anything can be refused: in a list of many confirmations
		// each would otherwise ask only when those before it are decided.
		v.batch.expectAbsent(entityRef(t.scope, c.Entity))
		if v.owns(c.Entity, n) {
			return v.ownedResult(n, true), nil
		}
		if n.givenUp() {
			return dibs.Result{}, t.refuse(dibs.CodeAlreadyReleased, "%s was confirmed and has been given up since", t.key())
		}
		if err := t.checkLive(n); err != nil {
			return dibs.Result{}, err
		}
		if err := p.confirmHold(v, n, t, c); err != nil {
			return dibs.Result{}, err
		}
		return v.ownedResult(n, false), nil
	})
}

// gaveUp reports whether the name was an entity's in this epoch and is no more.
func (n *nameState) givenUp() bool {
	return n.ConfirmedAt != 0 && (n.State == dibs.Free || n.State == dibs.Quarantined)
}

// confirmHold makes a hold the active name of an entity, in place of another one if
// the command says so.
func (p *preparer) confirmHold(v *view, n *nameState, t *target, c dibs.Confirm) *dibs.Error {
	if err := t.intendedFor(n, c.Entity); err != nil {
		return err
	}
	e := v.entity(t.scope, c.Entity)
	if err := t.mayOwn(e); err != nil {
		return err
	}
	var old *nameState
	if c.Replace || c.Replaces != "" {
		var (
			which *target
			err   *dibs.Error
		)
		if c.Replaces != "" { // only now its namespace is known
			if which, err = p.target(t.namespace, c.Replaces, t.field); err != nil {
				return err
			}
		}
		if old, err = p.activeToReplace(v, t, e, which); err != nil {
			return err
		}
	} else if err := t.mayAdd(e); err != nil {
		return err
	}
	v.uncountHold(n)
	v.makeActive(old, n, e, t, dibs.EventConfirmed)
	return nil
}

// intendedFor refuses a hold to another entity than the one it was reserved for.
func (t *target) intendedFor(n *nameState, entity dibs.Entity) *dibs.Error {
	if !n.Intended.IsZero() && n.Intended != entity {
		return t.refuse(dibs.CodeNotOwner, "%s was reserved for an entity other than %s", t.key(), entity)
	}
	return nil
}

// ownedResult is the result of a command that gave a name to an entity.
func (v *view) ownedResult(n *nameState, replayed bool) dibs.Result {
	name := v.show(n)
	name.Version = v.entity(n.Scope, n.Owner).Rev
	return dibs.Result{Names: []dibs.Name{name}, Replayed: replayed, Version: name.Version}
}
