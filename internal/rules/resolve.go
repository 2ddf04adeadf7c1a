package rules

import "github.com/calldibs/dibs"

// The HTTP statuses of a [dibs.Resolution]. The rules do not import net/http.
const (
	statusOK       = 200
	statusNotFound = 404
	statusGone     = 410
)

// Resolve asks where a name leads.
func (set *Policies) Resolve(namespace, value string) (*Job[dibs.Resolution], *dibs.Error) {
	p := set.preparer()
	t, err := p.target(namespace, value, "")
	if err != nil {
		return nil, err
	}
	return newQuestion(p, func(v *view) (dibs.Resolution, *dibs.Error) { return resolve(v, t), nil }), nil
}

// resolve follows a name to its entity, and an alias on to the entity's active name: one hop, so
// there are no chains and no loops.
func resolve(v *view, t *target) dibs.Resolution {
	n := v.name(t)
	answer := dibs.Resolution{Outcome: dibs.ResolveNotFound, Canonical: t.canonical, Status: statusNotFound}
	if n.State == dibs.Alias || n.State == dibs.Quarantined {
		answer.Until = n.Until.Time()
	}
	gone := answer
	gone.Outcome, gone.Status = dibs.ResolveGone, statusGone
	switch n.State {
	case dibs.Active, dibs.Alias:
	case dibs.Quarantined:
		return gone
	default:
		return answer
	}
	e := v.entity(n.Scope, n.Owner)
	switch {
	case e.Deleted: // its names are about to be given up
		return gone
	case e.Archived && t.policy.ArchivedStatus == statusGone:
		return gone
	case e.Archived:
		return answer
	}
	answer.Entity = n.Owner
	if n.State == dibs.Active {
		answer.Outcome, answer.Status = dibs.ResolveActive, statusOK
		return answer
	}
	id, has := e.Active[n.slot()]
	if !has {
		// The policy may have changed to or from ManyPerEntity since: then the alias leads to the
		// only active name, if there is exactly one.
		active := e.activeIn(n.Namespace)
		if len(active) != 1 || n.Terms.Many == t.policy.ManyPerEntity {
			return gone
		}
		id = active[0]
	}
	active := v.nameByID(id, n.Scope)
	if active == nil {
		return gone
	}
	to := v.show(active)
	answer.Outcome, answer.Status, answer.To = dibs.ResolveMoved, t.policy.RedirectStatus, &to
	return answer
}
