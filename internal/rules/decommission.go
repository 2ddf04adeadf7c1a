package rules

import "github.com/calldibs/dibs"

func (p *preparer) decommission(c dibs.Decommission) (decision, *dibs.Error) {
	t, err := p.target(c.Namespace, c.Value, "")
	if err != nil {
		return nil, err
	}
	if err := checkEntity(c.Entity); err != nil {
		return nil, t.about(err)
	}
	p.want(entityRef(t.scope, c.Entity))
	return func(v *view) (dibs.Result, *dibs.Error) {
		n := v.name(t)
		if (n.State == dibs.Free || n.State == dibs.Quarantined) && n.Owner == c.Entity {
			return v.ownedResult(n, true), nil
		}
		if err := t.checkOwnedBy(n, c.Entity); err != nil {
			return dibs.Result{}, err
		}
		e := v.entity(t.scope, c.Entity)
		if err := e.mayGive(); err != nil {
			return dibs.Result{}, err
		}
		result := v.giveUp(n, e, t.policy)
		result.Names, result.Version = []dibs.Name{v.show(n)}, v.entity(t.scope, c.Entity).Rev
		return result, nil
	}, nil
}

// giveUp ends the entity's ownership of a name, as the policy says. The result has the name's key.
func (v *view) giveUp(n *nameState, e entityState, policy *policy) dibs.Result {
	e.deactivate(n)
	n.giveUp(policy.Quarantine, v.now)
	v.saveEntity(e)
	v.save(n, dibs.EventGivenUp)
	if n.State == dibs.Quarantined {
		return dibs.Result{Quarantined: []string{n.Key()}}
	}
	return dibs.Result{Freed: []string{n.Key()}}
}

// giveUpAll gives up these names of an entity, each as its own policy says.
func (p *preparer) giveUpAll(v *view, e entityState, ids []dibs.ID) dibs.Result {
	var result dibs.Result
	for _, id := range ids {
		n := v.nameByID(id, e.Scope)
		if n == nil || !n.ownedBy(e.Entity) {
			if n != nil {
				v.saveLapses(n) // an alias that has ended by itself
			}
			continue
		}
		ns, err := p.policies.namespace(n.Namespace)
		if err != nil {
			continue // no name has a malformed namespace
		}
		left := v.giveUp(n, e, ns.policy)
		result.Freed = append(result.Freed, left.Freed...)
		result.Quarantined = append(result.Quarantined, left.Quarantined...)
	}
	return result
}
