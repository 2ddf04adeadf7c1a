package rules

import (
	"maps"

	"github.com/calldibs/dibs"
)

// show returns the name as callers see it, at the view's moment.
func (v *view) show(n *nameState) dibs.Name { return n.show(v.now) }

// result returns the result of a command on these names.
func (v *view) result(replayed bool, names ...*nameState) dibs.Result {
	result := dibs.Result{Names: make([]dibs.Name, len(names)), Replayed: replayed}
	for i, n := range names {
		result.Names[i] = v.show(n)
	}
	return result
}

// show returns the name as callers see it, without the hash of the token.
func (n *nameState) show(now dibs.Instant) dibs.Name {
	if n.forgotten() {
		return dibs.Name{
			ID: n.ID, Namespace: n.Namespace, State: n.State, Status: n.Status, Epoch: n.Epoch,
			EndedAt: n.EndedAt.Time(), Until: n.Until.Time(),
		}
	}
	name := dibs.Name{
		ID: n.ID, Namespace: n.Namespace, Value: n.Value, Canonical: n.Canonical,
		State: n.State, Status: n.Status, Epoch: n.Epoch,
		Entity: n.Owner, Principal: n.Principal, CorrelationID: n.CorrelationID, Meta: maps.Clone(n.Meta),
		CreatedAt: n.CreatedAt.Time(), ExpiresAt: n.ExpiresAt.Time(), ConfirmedAt: n.ConfirmedAt.Time(),
		EndedAt: n.EndedAt.Time(), Until: n.Until.Time(), Doubt: n.Doubt,
	}
	if n.held() || n.Owner.IsZero() {
		name.Entity = n.Intended
	}
	switch n.State {
	case dibs.Held:
		name.Remaining = n.ExpiresAt.Sub(now)
	case dibs.Suspect:
		name.Asked, name.AskAt = n.Asked, n.AskAt.Time()
	default:
	}
	return name
}

// ShowAsOf returns a name as of a moment. If the answer rests on time alone, it also returns the
// end that it rests on.
func ShowAsOf(r *dibs.NameRecord, now dibs.Instant) (dibs.Name, PastEnd) {
	n := stateOf(r, now)
	return n.show(now), PastEnd{r.Ref(), r.Rev, n.lapsedAt()}
}

// StateAsOf returns the state of a name as of a moment.
func StateAsOf(r *dibs.NameRecord, now dibs.Instant) dibs.State { return stateOf(r, now).State }
