package rules

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/calldibs/dibs"
)

// wish is a Reserve with everything checked that no record is needed for.
type reservation struct {
	*target
	ttl           time.Duration
	token         dibs.TokenHash
	principal     dibs.Principal
	entity        dibs.Entity
	correlationID string
	meta          map[string]string
}

func (p *preparer) reservation(c dibs.Reserve, token dibs.TokenHash) (*reservation, *dibs.Error) {
	t, err := p.newTarget(c.Namespace, c.Value, c.Field, c.OverrideReserved)
	if err != nil {
		return nil, err
	}
	ttl, err := t.policy.ttl(c.TTL)
	if err != nil {
		return nil, t.about(err)
	}
	if err := checkOptionalEntity(c.Entity); err != nil {
		return nil, t.about(err)
	}
	if err := t.checkDetails(c.CorrelationID, c.Meta); err != nil {
		return nil, err
	}
	if t.policy.MaxHolds > 0 {
		ref, _ := quotaRef(t.namespace, t.scope, p.principal.Name)
		p.want(ref)
	}
	return &reservation{
		target: t, ttl: ttl, token: token, principal: p.principal, entity: c.Entity,
		correlationID: c.CorrelationID, meta: maps.Clone(c.Meta),
	}, nil
}

// chooseToken returns the caller's token or a fresh one, with its hash.
func chooseToken(token string) (string, dibs.TokenHash, *dibs.Error) {
	if token == "" {
		token = dibs.NewToken()
	}
	hash, err := hashToken(token)
	return token, hash, err
}

func (p *preparer) reserve(c dibs.Reserve) (decision, *dibs.Error) {
	token, hash, err := chooseToken(c.Token)
	if err != nil {
		return nil, err
	}
	r, err := p.reservation(c, hash)
	if err != nil {
		return nil, err
	}
	return func(v *view) (dibs.Result, *dibs.Error) {
		n, replayed, err := r.reserve(v)
		if err != nil {
			return dibs.Result{}, err
		}
		return dibs.Result{Names: []dibs.Name{v.show(n)}, Token: token, Replayed: replayed}, nil
	}, nil
}

func (p *preparer) reserveAll(c dibs.ReserveAll) (decision, *dibs.Error) {
	token, hash, err := chooseToken(c.Token)
	if err != nil {
		return nil, err
	}
	if err := checkCount(len(c.Reservations)); err != nil {
		return nil, err
	}
	var (
		reservations = make([]*reservation, len(c.Reservations))
		failures     []dibs.Failure
		seen         = make(map[dibs.ID]int)
	)
	for i, single := range c.Reservations {
		r, err := p.reservation(single, hash)
		if err == nil {
			if single.Token != "" {
				err = r.about(invalidToken("one token holds all of them: set ReserveAll.Token and leave the others empty"))
			} else if first, twice := seen[r.id]; twice {
				err = r.refuse(dibs.CodeInvalidValue, "%s is the same name as number %d", r.key(), first+1)
			}
		}
		if err != nil {
			failures = append(failures, dibs.Failure{Index: i, Err: err})
			continue
		}
		seen[r.id] = i
		reservations[i] = r
	}
	if len(failures) > 0 {
		return nil, Several(failures, len(reservations))
	}
	return func(v *view) (dibs.Result, *dibs.Error) {
		result := dibs.Result{Token: token, Replayed: true}
		var failures []dibs.Failure
		for i, r := range reservations {
			n, replayed, err := r.reserve(v)
			if err != nil {
				failures = append(failures, dibs.Failure{Index: i, Err: err})
				continue
			}
			result.Names = append(result.Names, v.show(n))
			result.Replayed = result.Replayed && replayed
		}
		if len(failures) > 0 {
			return dibs.Result{}, Several(failures, len(reservations))
		}
		return result, nil
	}, nil
}

func (p *preparer) reserveFirst(c dibs.ReserveFirst) (decision, *dibs.Error) {
	token, hash, err := chooseToken(c.Token)
	if err != nil {
		return nil, err
	}
	if err := checkCount(len(c.Values)); err != nil {
		return nil, err
	}
	// A candidate that is not valid does not spoil the others: it is one that
	// cannot be had, like a taken one.
	reservations := make([]*reservation, len(c.Values))
	invalid := make([]*dibs.Error, len(c.Values))
	for i, value := range c.Values {
		reservations[i], invalid[i] = p.reservation(dibs.Reserve{
			Namespace: c.Namespace, Value: value, TTL: c.TTL, Entity: c.Entity, CorrelationID: c.CorrelationID,
			Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, hash)
		if err := invalid[i]; err != nil && err.Code != dibs.CodeInvalidValue && err.Code != dibs.CodeReservedWord {
			return nil, err
		}
	}
	return func(v *view) (dibs.Result, *dibs.Error) {
		// What the token has, or had, comes before all that is free: a late
		// duplicate takes nothing.
		var ended *dibs.Error
		for _, r := range reservations {
			// A candidate without a row is nobody's.
			if r == nil || v.hasNoRow(r.target) {
				continue
			}
			n := v.name(r.target)
			if n.held() && r.matches(n) {
				return r.try(v, token)
			}
			if ended == nil {
				ended = r.checkReplay(v, n)
			}
		}
		if ended != nil {
			return dibs.Result{}, ended
		}
		var failures []dibs.Failure
		for i, r := range reservations {
			err := invalid[i]
			if r != nil {
				var result dibs.Result
				if result, err = r.try(v, token); err == nil {
					return result, nil
				}
				if err.Code != dibs.CodeNameTaken {
					return dibs.Result{}, err
				}
			}
			failures = append(failures, dibs.Failure{Index: i, Err: err})
		}
		return dibs.Result{}, Several(failures, len(reservations))
	}, nil
}

// first reserves a candidate, or leaves no trace of having tried.
func (r *reservation) try(v *view, token string) (dibs.Result, *dibs.Error) {
	nested := v.nested()
	n, replayed, err := r.reserve(nested)
	nested.close(err == nil)
	if err != nil {
		return dibs.Result{}, err
	}
	return dibs.Result{Names: []dibs.Name{v.show(n)}, Token: token, Replayed: replayed}, nil
}

// checkCount checks how many names a list has.
func checkCount(n int) *dibs.Error {
	switch {
	case n == 0:
		return &dibs.Error{Code: dibs.CodeInvalidValue, Message: "the list is empty"}
	case n > maxNames:
		return &dibs.Error{Code: dibs.CodeTooLarge, Message: fmt.Sprintf("%d names in one command, more than the %d allowed: split the list", n, maxNames)}
	}
	return nil
}

// holds reports whether the name's last hold is this wish's own.
func (r *reservation) matches(n *nameState) bool { return n.heldBy(r.token, r.principal) }

// belongsTo reports whether the name's last hold was made with this token, by this
// principal or for one who may act for others.
func (n *nameState) heldBy(token dibs.TokenHash, principal dibs.Principal) bool {
	return sameToken(n.Token, token) && (n.Principal == principal.Name || principal.HasIn(n.Namespace, dibs.ActForOthers))
}

// alive reports whether the name is held, also when it is past its time and waits
// for a witness.
func (n *nameState) held() bool { return n.State == dibs.Held || n.State == dibs.Suspect }

// reserve holds the name, or gives back the hold that the token has already.
func (r *reservation) reserve(v *view) (n *nameState, replayed bool, err *dibs.Error) {
	n = v.name(r.target)
	if r.matches(n) {
		// A late duplicate of an old request takes nothing.
		if err := r.checkLive(n); err != nil {
			return nil, false, err
		}
		if n.Intended != r.entity {
			return nil, false, r.refuse(dibs.CodeInvalidToken, "this token holds %s for another entity: use each token for one request only", r.key())
		}
		return n, true, nil
	}
	if err := v.available(r.target, n, r.entity); err != nil {
		return nil, false, err
	}
	if err := r.checkSpent(v, n); err != nil {
		return nil, false, err
	}
	if err := v.mayHold(r); err != nil {
		return nil, false, err
	}
	if err := v.beginEpoch(n, r.target); err != nil {
		return nil, false, err
	}
	n.State, n.Status, n.ExpiresAt = dibs.Held, dibs.StatusReserved, v.now.Add(r.ttl)
	v.narrow(0, n.ExpiresAt) // a hold that is over when it is committed is none
	n.Token, n.Principal, n.Intended = r.token, r.principal.Name, r.entity
	n.CorrelationID, n.Meta = r.correlationID, r.meta
	n.Terms.Counted = r.policy.MaxHolds > 0
	v.countHold(n)
	v.save(n, dibs.EventReserved)
	return n, false, nil
}

// over says how the hold ended that a token had, or nothing while it lives.
func (t *target) checkLive(n *nameState) *dibs.Error {
	switch {
	case n.ConfirmedAt != 0:
		return t.refuse(dibs.CodeAlreadyConfirmed, "this token's hold on %s was already confirmed", t.key())
	case n.Status == dibs.StatusReleased:
		return t.refuse(dibs.CodeAlreadyReleased, "this token's hold on %s was already released", t.key())
	case n.Status == dibs.StatusExpired:
		return t.refuse(dibs.CodeAlreadyExpired, "this token's hold on %s expired at %s", t.key(), n.EndedAt)
	}
	return nil
}

// begin starts a new epoch: everything of the last hold is forgotten, except that its token
// is spent, and that a name that comes out of quarantine remembers it.
func (v *view) beginEpoch(n *nameState, t *target) *dibs.Error {
	record, err := v.recordForNewName(t)
	if err != nil {
		return err
	}
	if !n.exists() {
		// The row may have been purged: neither epoch nor revision may go back.
		n.Epoch, n.Rev = record.Epoch, record.Rev
	}
	forgotten, forgottenAt := n.forgotten(), n.EndedAt
	if forgotten {
		n.remember(t)
	}
	v.saveLapses(n)
	fresh := dibs.NameRecord{
		ID: n.ID, Rev: n.Rev, Namespace: n.Namespace, Scope: n.Scope, Canonical: n.Canonical,
		Value: t.value, Profile: t.policy.profileName,
		Epoch: n.Epoch + 1, CreatedAt: v.now, Established: n.Established,
		Terms: dibs.Terms{
			Witnessed: t.policy.Witness != nil, Many: t.policy.ManyPerEntity,
			Quarantine: t.policy.Quarantine, HoldHistory: t.policy.HoldHistory,
		},
	}
	if n.State == dibs.Quarantined {
		fresh.Owner, fresh.Until = n.Owner, n.Until
	}
	fresh.Spent = v.stillSpent(n.Spent, n.lastToken(n.EndedAt))
	// It may be filed under keys that only others know, in a blind namespace. Elsewhere a
	// skeleton that it had is that of other rules.
	fresh.Links = slices.DeleteFunc(slices.Clone(n.Links), func(l dibs.Link) bool {
		return l.Kind == dibs.LinkMovedTo || (l.Kind == dibs.LinkSkeleton && !t.policy.blind())
	})
	n.NameRecord = fresh
	if forgotten {
		v.restartHistory(n, forgottenAt, n.before)
	}
	if count := v.addToIndex(n, t, record); count > maxLookAlikes {
		return t.refuse(dibs.CodeTooLarge, "%s looks like %d other names of its entity, the maximum: decommission one", t.key(), count-1)
	}
	return nil
}
