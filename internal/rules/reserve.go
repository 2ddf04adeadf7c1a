package rules

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/calldibs/dibs"
)

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

// chooseToken returns the caller's token or a new one, with its hash.
func chooseToken(token string) (string, dibs.TokenHash, *dibs.Error) {
	if token == "" {
		token = dibs.NewToken()
	}
	hash, err := hashToken(token)
	return token, hash, err
}

// reservation is a name to reserve, after all checks that need no record.
type reservation struct {
	*target
	ttl           time.Duration
	token         dibs.TokenHash
	principal     dibs.Principal
	entity        dibs.Entity
	correlationID string
	meta          map[string]string
}

// reservation checks a Reserve. ReserveAll and ReserveFirst have a token for all of their names.
func (p *preparer) reservation(c dibs.Reserve, token dibs.TokenHash) (*reservation, *dibs.Error) {
	t, err := p.newTarget(c.Namespace, c.Value, c.Field, c.OverrideReserved)
	if err != nil {
		return nil, err
	}
	ttl, err := t.policy.ttl(c.TTL)
	if err := cmp.Or(t.about(err), t.about(checkOptionalEntity(c.Entity)), t.checkDetails(c.CorrelationID, c.Meta)); err != nil {
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

// reserve holds the name, or returns the hold that the token already has.
func (r *reservation) reserve(v *view) (n *nameState, replayed bool, err *dibs.Error) {
	n = v.name(r.target)
	if n.heldBy(r.token, r.principal) {
		// A late duplicate of an old request must not take the name.
		if err := r.checkLive(n); err != nil {
			return nil, false, err
		}
		if n.Intended != r.entity {
			return nil, false, r.refuse(dibs.CodeInvalidToken, "this token holds %s for another entity: use each token for one request only", r.key())
		}
		return n, true, nil
	}
	if err := v.checkAvailable(r.target, n, r.entity); err != nil {
		return nil, false, err
	}
	if err := r.checkSpent(v, n); err != nil {
		return nil, false, err
	}
	if err := v.checkQuota(r); err != nil {
		return nil, false, err
	}
	if err := v.beginEpoch(n, r.target); err != nil {
		return nil, false, err
	}
	n.State, n.Status, n.ExpiresAt = dibs.Held, dibs.StatusReserved, v.now.Add(r.ttl)
	v.narrow(0, n.ExpiresAt) // a hold must not be over before it is committed
	n.Token, n.Principal, n.Intended = r.token, r.principal.Name, r.entity
	n.CorrelationID, n.Meta = r.correlationID, r.meta
	n.Terms.Counted = r.policy.MaxHolds > 0
	v.countHold(n)
	v.save(n, dibs.EventReserved)
	return n, false, nil
}

// heldBy reports whether the name's last hold was made with this token, by this principal or by
// one for which this principal may act.
func (n *nameState) heldBy(token dibs.TokenHash, principal dibs.Principal) bool {
	return sameToken(n.Token, token) && (n.Principal == principal.Name || principal.HasIn(n.Namespace, dibs.ActForOthers))
}

// held reports whether the name is held, also when its hold is over and waits for a witness.
func (n *nameState) held() bool { return n.State == dibs.Held || n.State == dibs.Suspect }

// checkLive refuses if the name's last hold, which the caller's token had, has ended.
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

// beginEpoch begins a new epoch. Nothing of the last hold remains, except that its token is spent,
// and that a name in quarantine keeps its last owner and date.
func (v *view) beginEpoch(n *nameState, t *target) *dibs.Error {
	record, err := v.recordForNewName(t)
	if err != nil {
		return err
	}
	if n.Rev == 0 { // it has no row
		// An earlier row may have been purged: neither epoch nor revision may go back.
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
	// In a blind namespace the name may be indexed under keys that only other processes have.
	// Elsewhere an old skeleton is one of former rules.
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
