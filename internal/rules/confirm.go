package rules

import "github.com/calldibs/dibs"

func (p *preparer) confirm(c dibs.Confirm) (decision, *dibs.Error) {
	if err := checkEntity(c.Entity); err != nil {
		return nil, err
	}
	// The scope is not known before the name is read. Most names have none.
	p.expectAbsent(entityRef("", c.Entity))
	return p.onHold(c, c.ID, c.Token, func(v *view, n *nameState, t *target) (dibs.Result, *dibs.Error) {
		// Ask for the entity before any refusal. Otherwise the Confirms of a list ask one after the
		// other, each with another load.
		v.batch.expectAbsent(entityRef(t.scope, c.Entity))
		if v.owns(c.Entity, n) {
			return v.ownedResult(n, true), nil
		}
		if n.ConfirmedAt != 0 && (n.State == dibs.Free || n.State == dibs.Quarantined) {
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

// confirmHold makes a hold the active name of an entity, in place of another one if the command
// says so.
func (p *preparer) confirmHold(v *view, n *nameState, t *target, c dibs.Confirm) *dibs.Error {
	if err := t.checkIntended(n, c.Entity); err != nil {
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
		if c.Replaces != "" { // its namespace is known only now
			if which, _, err = p.locate(t.namespace, c.Replaces, t.field); err != nil {
				return err
			}
		}
		if old, err = v.activeToReplace(t, e, which); err != nil {
			return err
		}
	} else if err := t.mayAdd(e); err != nil {
		return err
	}
	v.uncountHold(n)
	v.makeActive(old, n, e, t, dibs.EventConfirmed)
	return nil
}

// checkIntended refuses a hold that was reserved for another entity.
func (t *target) checkIntended(n *nameState, entity dibs.Entity) *dibs.Error {
	if !n.Intended.IsZero() && n.Intended != entity {
		return t.refuse(dibs.CodeNotOwner, "%s was reserved for an entity other than %s", t.key(), entity)
	}
	return nil
}
