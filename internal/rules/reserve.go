package rules

import (
	"cmp"
	"crypto/subtle"
	"maps"
	"slices"
	"time"

	"github.com/calldibs/dibs"
)

func (p *preparer) reserve(c dibs.Reserve) decision {
	return p.reservation(c, p.chooseToken(c.Token)).reserve
}

// token is a caller's token, or one that was made for it.
type token struct {
	text string
	hash dibs.TokenHash
}

func (p *preparer) chooseToken(text string) token {
	if text == "" {
		text = dibs.NewToken()
	}
	hash, err := hashToken(text)
	p.check(err)
	return token{text, hash}
}

// reservation is a Reserve after all checks that need no record.
type reservation struct {
	*target
	command   dibs.Reserve
	ttl       time.Duration
	token     token
	principal dibs.Principal
}

// reservation checks a Reserve. ReserveAll and ReserveFirst have a token for all of their names.
func (p *preparer) reservation(c dibs.Reserve, token token) *reservation {
	t := p.newTarget(c.Namespace, c.Value, c.Field, c.OverrideReserved)
	ttl, err := t.policy.ttl(c.TTL)
	p.check(cmp.Or(t.about(err), t.about(checkOptionalEntity(c.Entity)), t.checkDetails(c.CorrelationID, c.Meta)))
	if t.policy.MaxHolds > 0 {
		ref, _ := quotaRef(t.namespace, p.principal.Name)
		p.want(ref)
	}
	c.Meta = maps.Clone(c.Meta)
	return &reservation{target: t, command: c, ttl: ttl, token: token, principal: p.principal}
}

// reserve holds the name, or returns the hold that the token already has.
func (r *reservation) reserve(v *view) (dibs.Result, *dibs.Error) {
	n := v.glance(r.target)
	if n.heldBy(r.token.hash, r.principal) {
		// A late duplicate of an old request must not take the name.
		if err := r.checkLive(n); err != nil {
			return dibs.Result{}, err
		}
		if n.Intended != r.command.Entity {
			return dibs.Result{}, r.refuse(dibs.CodeInvalidToken,
				"this token holds %s for another entity: use each token for one request only", r.key())
		}
		return r.result(v, n, true), nil
	}
	if err := cmp.Or(v.checkAvailable(r.target, n, r.command.Entity), r.checkSpent(v, n)); err != nil {
		return dibs.Result{}, err
	}
	if err := v.checkQuota(r); err != nil {
		return dibs.Result{}, err
	}
	n = n.own()
	if err := v.beginEpoch(n, r.target); err != nil {
		return dibs.Result{}, err
	}
	n.State, n.Status, n.ExpiresAt = dibs.Held, dibs.StatusReserved, v.now.Add(r.ttl)
	v.narrow(0, n.ExpiresAt) // a hold must not be over before it is committed
	n.Token, n.Principal, n.Intended = r.token.hash, r.principal.Name, r.command.Entity
	n.CorrelationID, n.Meta = r.command.CorrelationID, r.command.Meta
	n.Terms.Counted = r.policy.MaxHolds > 0
	v.countHold(n)
	v.save(n, dibs.EventReserved)
	return r.result(v, n, false), nil
}

func (r *reservation) result(v *view, n *nameState, replayed bool) dibs.Result {
	return dibs.Result{Names: []dibs.Name{n.show(v.now)}, Token: r.token.text, Replayed: replayed}
}

// heldBy reports whether the name's last hold was made with this token, by this principal or by
// one for which this principal may act. It compares tokens in constant time, so that the time of a
// refusal does not tell anything of a hash.
func (n *nameState) heldBy(token dibs.TokenHash, principal dibs.Principal) bool {
	return subtle.ConstantTimeCompare(n.Token[:], token[:]) == 1 && !token.IsZero() &&
		(n.Principal == principal.Name || principal.HasIn(n.Namespace, dibs.ActForOthers))
}

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
	v.openRow(n, t, record)
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
	// In a blind namespace the name may be indexed under keys that only other processes have, unless
	// they found it free and removed it. Elsewhere an old skeleton is one of former rules.
	fresh.Links = slices.DeleteFunc(slices.Clone(n.Links), func(l dibs.Link) bool {
		key, indexed := indexKeyOf(l, n.Scope)
		former := l.Kind == dibs.LinkSkeleton && !t.policy.blind()
		return l.Kind == dibs.LinkMovedTo || former || (indexed && !v.isListed(key, n))
	})
	n.NameRecord = fresh
	if count := v.addToIndex(n, t, record); count > maxLookAlikes {
		return t.refuse(dibs.CodeTooLarge, "%s looks like %d other names of its entity, the maximum: decommission one", t.key(), count-1)
	}
	return nil
}

// openRow gets the row of a free name ready for its next epoch.
func (v *view) openRow(n *nameState, t *target, record NamespaceRecord) {
	if n.Rev == 0 { // it has no row
		// An earlier row may have been purged: neither epoch nor revision may go back.
		n.Epoch, n.Rev = record.Epoch, record.Rev
	}
	if n.forgotten() { // the caller knows its canonical form
		n.Value, n.Canonical, n.lapses = t.value, t.canonical, nil
		v.restartHistory(n, n.EndedAt, n.snapshot())
	}
	v.saveLapses(n)
}

// reserveAll prepares a ReserveAll: all names or none, with one token.
func (p *preparer) reserveAll(c dibs.ReserveAll) decision {
	token := p.chooseToken(c.Token)
	p.check(checkCount(len(c.Reservations)))
	if p.refused != nil {
		return nil
	}
	reservations := make([]*reservation, len(c.Reservations))
	seen := make(map[dibs.ID]int)
	var failed failures
	for i, single := range c.Reservations {
		r := p.reservation(single, token)
		if single.Token != "" {
			p.check(r.refuse(dibs.CodeInvalidToken, "one token holds all of them: set ReserveAll.Token and leave the others empty"))
		} else if first, twice := seen[r.id]; twice {
			p.check(r.refuse(dibs.CodeInvalidValue, "%s is the same name as number %d", r.key(), first+1))
		}
		if p.refused == nil {
			seen[r.id] = i
		}
		failed.add(i, p.takeRefusal())
		reservations[i] = r
	}
	p.check(Several(failed, len(reservations)))
	return func(v *view) (dibs.Result, *dibs.Error) {
		result := dibs.Result{Token: token.text, Replayed: true}
		var failed failures
		for i, r := range reservations {
			one, err := r.reserve(v)
			failed.add(i, err)
			result.Names = append(result.Names, one.Names...)
			result.Replayed = result.Replayed && one.Replayed
		}
		return result, Several(failed, len(reservations))
	}
}

// reserveFirst prepares a ReserveFirst: the first of several candidates that can be reserved.
func (p *preparer) reserveFirst(c dibs.ReserveFirst) decision {
	token := p.chooseToken(c.Token)
	p.check(checkCount(len(c.Values)))
	if p.refused != nil {
		return nil
	}
	reservations := make([]*reservation, len(c.Values))
	for i, value := range c.Values {
		reservations[i] = p.reservation(dibs.Reserve{
			Namespace: c.Namespace, Value: value, TTL: c.TTL, Entity: c.Entity, CorrelationID: c.CorrelationID,
			Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, token)
		if p.refused != nil && !isAboutValue(p.refused) {
			return nil
		}
		reservations[i].invalid = p.takeRefusal()
	}
	return func(v *view) (dibs.Result, *dibs.Error) {
		if result, err := replayFirst(v, reservations); err != nil || result.Replayed {
			return result, err
		}
		var failed failures
		for i, r := range reservations {
			err := r.invalid // an invalid candidate counts like a taken one
			if err == nil {
				var result dibs.Result
				if result, err = v.try(r.reserve); err == nil || err.Code != dibs.CodeNameTaken {
					return result, err
				}
			}
			failed.add(i, err)
		}
		return dibs.Result{}, Several(failed, len(reservations))
	}
}

// replayFirst returns the candidate that the token holds, or refuses if the token held one. These
// come before free candidates: a late duplicate must not take another name.
func replayFirst(v *view, reservations []*reservation) (dibs.Result, *dibs.Error) {
	var ended *dibs.Error
	for _, r := range reservations {
		if r.invalid != nil || v.hasNoRow(r.target) {
			continue
		}
		n := v.name(r.target)
		switch last := n.heldBy(r.token.hash, r.principal); {
		case last && n.held():
			return v.try(r.reserve)
		case ended != nil:
		case last:
			ended = r.checkLive(n)
		default:
			ended = r.checkSpent(v, n)
		}
	}
	return dibs.Result{}, ended
}

func checkCount(n int) *dibs.Error {
	if n == 0 {
		return refuse(dibs.CodeInvalidValue, "the list is empty")
	}
	return checkAtMost(n, maxNames, "names in one command")
}

// checkAvailable refuses a name that the entity cannot have now: the name or a look-alike of it is
// taken. A zero entity stands for a caller that names none.
func (v *view) checkAvailable(t *target, n *nameState, entity dibs.Entity) *dibs.Error {
	if err := t.refuseTaken(n, entity); err != nil {
		return err
	}
	for _, key := range t.skeletons {
		switch {
		case v.lookAlike(key, n, entity) == nil:
		case entity.IsZero():
			return t.refuseConfusable("%s looks like a taken name; if both belong to one entity, name the entity", t.key())
		default:
			return t.refuseConfusable("%s looks like a taken name", t.key())
		}
	}
	return nil
}

// refuseTaken refuses a name that is taken. Only its last owner can have a quarantined one.
func (t *target) refuseTaken(n *nameState, entity dibs.Entity) *dibs.Error {
	if n.State == dibs.Free || (n.State == dibs.Quarantined && entity == n.Owner && !entity.IsZero()) { // a tombstone has no owner
		return nil
	}
	if n.taken == nil {
		n.taken = t.taken(n)
	}
	err := *n.taken // the same for all decisions that share the state, except for the field
	err.Field = t.field
	return &err
}

func (t *target) taken(n *nameState) *dibs.Error {
	refuse := func(reason dibs.Reason, until dibs.Instant, format string, args ...any) *dibs.Error {
		err := t.refuse(dibs.CodeNameTaken, "%s "+format, append([]any{t.key()}, args...)...)
		err.Reason, err.Until = reason, until.Time()
		return err
	}
	switch n.State {
	case dibs.Held:
		return refuse(dibs.ReasonHeld, n.ExpiresAt, "is already reserved, until %s", n.ExpiresAt)
	case dibs.Suspect:
		return refuse(dibs.ReasonSuspect, 0, "is already reserved, and its witness is asked whether it is in use")
	case dibs.Quarantined:
		return refuse(dibs.ReasonQuarantined, n.Until, "was given up and is in quarantine until %s", n.Until)
	default:
		return refuse(dibs.ReasonInUse, 0, "is in use")
	}
}

// lookAlike returns another name under the index key that keeps the entity out; nil if there is none.
func (v *view) lookAlike(key indexKey, n *nameState, entity dibs.Entity) *nameState {
	names, _ := v.readIndex(key)
	for _, id := range names {
		if id == n.ID {
			continue
		}
		if other := v.nameByID(id, n.Scope); other != nil && other.keepsOut(entity) {
			return other
		}
	}
	return nil
}

// keepsOut reports whether the name belongs to another entity, or may come to.
func (n *nameState) keepsOut(entity dibs.Entity) bool {
	return n.State != dibs.Free && (n.entity() != entity || entity.IsZero())
}

// refuseConfusable makes the refusal of a look-alike. Its message must not contain the other name:
// the caller may have no right to see it. Only an import says it to an operator, see [importing.decide].
func (t *target) refuseConfusable(format string, args ...any) *dibs.Error {
	err := t.refuse(dibs.CodeNameTaken, format, args...)
	err.Reason = dibs.ReasonConfusable
	return err
}

// mayHandOver refuses to give an entity a name that looks like a name of another entity.
func (v *view) mayHandOver(t *target, n *nameState, to dibs.Entity) *dibs.Error {
	for _, l := range n.Links {
		if key, _ := indexKeyOf(l, n.Scope); l.Kind == dibs.LinkSkeleton && v.lookAlike(key, n, to) != nil {
			return t.refuseConfusable("%s looks like another name, which does not belong to %s: decommission that one first", t.key(), to)
		}
	}
	return nil
}
