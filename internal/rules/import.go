package rules

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/calldibs/dibs"
)

// importing is an Import after all checks that need no record.
type importing struct {
	*target
	command   dibs.Import
	aliasOf   *target // nil if the name is to be active
	since     dibs.Instant
	principal dibs.Principal
}

func (p *preparer) importName(c dibs.Import) decision {
	t := p.newTarget(c.Namespace, c.Value, c.Field, c.OverrideReserved)
	p.check(cmp.Or(t.about(checkEntity(c.Entity)), t.checkDetails(c.CorrelationID, c.Meta)))
	p.expectAbsent(entityRef(t.scope, c.Entity))
	c.Meta = maps.Clone(c.Meta)
	i := &importing{target: t, command: c, principal: p.principal}
	if c.AliasOf != "" {
		i.aliasOf = p.target(c.Namespace, c.AliasOf, c.Field)
	}
	if !c.Since.IsZero() {
		if i.since = dibs.InstantOf(c.Since); i.since <= 0 {
			p.check(t.refuse(dibs.CodeInvalidValue, "the entity cannot have had %s since before 1970", t.key()))
		}
	}
	return i.decide
}

// decide enters the name, unless the entity has it already in the same role.
func (i *importing) decide(v *view) (dibs.Result, *dibs.Error) {
	n := v.name(i.target)
	role := dibs.Active
	if i.aliasOf != nil {
		role = dibs.Alias
	}
	if v.owns(i.command.Entity, n) {
		if n.State != role {
			return dibs.Result{}, i.refuse(dibs.CodeEntityHasName, "%s is already a name of %s, in the state %s", i.key(), n.Owner, n.State)
		}
		return v.ownedResult(n, true), nil
	}
	if err := v.checkAvailable(i.target, n, i.command.Entity); err != nil {
		return dibs.Result{}, i.explain(v, n, err)
	}
	e := v.entity(i.scope, i.command.Entity)
	if err := i.mayOwn(e); err != nil {
		return dibs.Result{}, err
	}
	since, err := i.begins(v, n)
	if err != nil {
		return dibs.Result{}, err
	}
	if i.aliasOf != nil {
		err = i.enterAlias(v, n, e)
	} else {
		err = i.enterActive(v, n, e)
	}
	if err != nil {
		return dibs.Result{}, err
	}
	n.CreatedAt, n.ConfirmedAt = since, since
	n.Principal, n.CorrelationID, n.Meta = i.principal.Name, i.command.CorrelationID, i.command.Meta
	v.saveEntity(e)
	v.saveSince(n, dibs.EventImported, since)
	return v.ownedResult(n, false), nil
}

// explain adds to the refusal of a look-alike which name it looks like, so that a person can decide
// between the two. Only an operator with the store itself learns that; callers of a server do not.
func (i *importing) explain(v *view, n *nameState, err *dibs.Error) *dibs.Error {
	if err.Reason != dibs.ReasonConfusable || i.principal.Grants != nil || !i.principal.Has(dibs.Operate) {
		return err
	}
	for _, key := range i.skeletons {
		if other := v.lookAlike(key, n, i.command.Entity); other != nil {
			err.Message = fmt.Sprintf("%s looks like %s", i.key(), other.described())
			break
		}
	}
	return err
}

// described returns a taken name with its entity, for an operator.
func (n *nameState) described() string {
	switch owner := n.entity(); {
	case n.forgotten():
		return "a name that was forgotten"
	case owner.IsZero():
		return n.Canonical
	default:
		return n.Canonical + " of " + owner.String()
	}
}

// begins returns since when the entity has the name: not before the name's last end, because a
// history is in order.
func (i *importing) begins(v *view, n *nameState) (dibs.Instant, *dibs.Error) {
	if i.since == 0 {
		return v.now, nil
	}
	if i.since > v.now {
		return 0, i.refuse(dibs.CodeInvalidValue, "the entity cannot have %s since %s, which is in the future", i.key(), i.since)
	}
	v.narrow(i.since, 0)
	return max(i.since, n.EndedAt), nil
}

func (i *importing) enterActive(v *view, n *nameState, e entityState) *dibs.Error {
	if err := i.mayAdd(e); err != nil {
		return err
	}
	if err := v.beginEpoch(n, i.target); err != nil {
		return err
	}
	line := dibs.ID{}
	if i.policy.ManyPerEntity {
		line = newLine(n)
	}
	v.activate(n, e, i.target, line)
	return nil
}

func (i *importing) enterAlias(v *view, n *nameState, e entityState) *dibs.Error {
	to := v.name(i.aliasOf)
	if to.State != dibs.Active || to.Owner != e.Entity {
		return i.refuse(dibs.CodeNotOwner, "%s is not an active name of %s: import it before its aliases", i.aliasOf.key(), e.Entity)
	}
	if err := v.beginEpoch(n, i.target); err != nil {
		return err
	}
	v.makeAlias(n, i.target, to.Line)
	n.Status, n.Owner, n.Established = dibs.StatusConfirmed, e.Entity, true
	return nil
}
