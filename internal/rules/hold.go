package rules

import "github.com/calldibs/dibs"

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
			return v.result(true, n), nil
		}
		n.State, n.Status, n.ExpiresAt = dibs.Held, dibs.StatusReserved, expiresAt
		v.narrow(0, expiresAt)
		n.AskAt, n.Doubt = 0, ""
		v.countHold(n)
		v.save(n, dibs.EventExtended)
		return v.result(false, n), nil
	})
}

func (p *preparer) release(c dibs.Release) (decision, *dibs.Error) {
	return p.onHold(c, c.ID, c.Token, func(v *view, n *nameState, t *target) (dibs.Result, *dibs.Error) {
		if n.Status == dibs.StatusReleased && n.ConfirmedAt == 0 {
			return v.result(true, n), nil
		}
		if err := t.checkLive(n); err != nil {
			return dibs.Result{}, err
		}
		v.uncountHold(n)
		n.endHold(dibs.StatusReleased, v.now)
		v.save(n, dibs.EventReleased)
		return v.result(false, n), nil
	})
}

// onHold prepares a command on a hold: decide gets the name that the token holds or held last. The
// answer to another token is the same as to another principal, so that it does not tell which of
// the two was wrong.
func (p *preparer) onHold(
	c dibs.Command, id dibs.ID, token string, decide func(v *view, n *nameState, t *target) (dibs.Result, *dibs.Error),
) (decision, *dibs.Error) {
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

// existingName returns the name with this ID, and its target. A name that the principal may not do
// this to is answered like one that does not exist: an ID can be computed from a name, so any
// difference would tell which names others have.
func (p *preparer) existingName(v *view, c dibs.Command, id dibs.ID) (*nameState, *target, *dibs.Error) {
	n := v.followVisible(id, func(namespace string) bool { return p.principal.Allows(c, namespace) })
	if n == nil || n.forgotten() {
		return nil, nil, refuse(dibs.CodeNotFound, "there is no reservation %s", id)
	}
	ns, err := p.policies.namespace(n.Namespace)
	if err != nil {
		return nil, nil, err
	}
	return n, &target{namespaceInfo: ns, value: n.Value, canonical: n.Canonical, id: n.ID, field: ns.kind}, nil
}
