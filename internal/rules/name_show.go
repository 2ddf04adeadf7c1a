package rules

import (
	"maps"
	"time"

	"github.com/calldibs/dibs"
)

// show returns the name as callers see it, at the view's moment.
func (v *view) show(n *nameState) dibs.Name { return nameOf(&n.NameRecord, v.now) }

// result returns the result of a command on these names.
func (v *view) result(replayed bool, names ...*nameState) dibs.Result {
	result := dibs.Result{Names: make([]dibs.Name, len(names)), Replayed: replayed}
	for i, n := range names {
		result.Names[i] = v.show(n)
	}
	return result
}

// nameOf returns a record as callers see it, without the hash of the token.
func nameOf(n *dibs.NameRecord, now dibs.Instant) dibs.Name {
	var remaining time.Duration
	if n.State == dibs.Held {
		remaining = n.ExpiresAt.Sub(now)
	}
	if isTombstone(n) {
		return dibs.Name{
			ID: n.ID, Namespace: n.Namespace, State: n.State, Status: n.Status, Epoch: n.Epoch,
			EndedAt: n.EndedAt.Time(), Until: n.Until.Time(),
		}
	}
	entity := n.Owner
	if n.State == dibs.Held || n.State == dibs.Suspect || entity.IsZero() {
		entity = n.Intended
	}
	var asked int
	var askAt dibs.Instant
	if n.State == dibs.Suspect {
		asked, askAt = n.Asked, n.AskAt
	}
	return dibs.Name{
		ID: n.ID, Namespace: n.Namespace, Value: n.Value, Canonical: n.Canonical,
		State: n.State, Status: n.Status, Epoch: n.Epoch,
		Entity: entity, Principal: n.Principal, CorrelationID: n.CorrelationID, Meta: maps.Clone(n.Meta),
		CreatedAt: n.CreatedAt.Time(), ExpiresAt: n.ExpiresAt.Time(), Remaining: remaining, ConfirmedAt: n.ConfirmedAt.Time(),
		EndedAt: n.EndedAt.Time(), Until: n.Until.Time(), Doubt: n.Doubt, Asked: asked, AskAt: askAt.Time(),
	}
}

// ShowAsOf returns a name as of a moment. If the answer rests on time alone, it also returns the
// end that it rests on.
func ShowAsOf(r *dibs.NameRecord, now dibs.Instant) (dibs.Name, PastEnd) {
	n := stateOf(r, now)
	return nameOf(&n.NameRecord, now), PastEnd{r.Ref(), r.Rev, n.lapsedAt()}
}

// StateAsOf returns the state of a name as of a moment.
func StateAsOf(r *dibs.NameRecord, now dibs.Instant) dibs.State { return stateOf(r, now).State }
