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
	s, err := p.newName(c.Namespace, c.Value, c.Field, c.OverrideReserved)
	if err != nil {
		return nil, err
	}
	ttl, err := s.policy.ttl(c.TTL)
	if err != nil {
		return nil, s.about(err)
	}
	if err := checkOptionalEntity(c.Entity); err != nil {
		return nil, s.about(err)
	}
	if err := s.details(c.CorrelationID, c.Meta); err != nil {
		return nil, err
	}
	if s.policy.MaxHolds > 0 {
		ref, _ := quotaRef(s.namespace, s.scope, p.principal.Name)
		p.want(ref)
	}
	return &reservation{
		target: s, ttl: ttl, token: token, principal: p.principal, entity: c.Entity,
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
	w, err := p.reservation(c, hash)
	if err != nil {
		return nil, err
	}
	return func(v *view) (dibs.Result, *dibs.Error) {
		d, replayed, err := w.reserve(v)
		if err != nil {
			return dibs.Result{}, err
		}
		return dibs.Result{Names: []dibs.Name{v.show(d)}, Token: token, Replayed: replayed}, nil
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
		wishes   = make([]*reservation, len(c.Reservations))
		failures []dibs.Failure
		seen     = make(map[dibs.ID]int)
	)
	for i, r := range c.Reservations {
		w, err := p.reservation(r, hash)
		if err == nil {
			if r.Token != "" {
				err = w.about(invalidToken("one token holds them all: set ReserveAll.Token and leave the others empty"))
			} else if first, twice := seen[w.id]; twice {
				err = w.refuse(dibs.CodeInvalidValue, "%s is the same name as number %d", w.key(), first+1)
			}
		}
		if err != nil {
			failures = append(failures, dibs.Failure{Index: i, Err: err})
			continue
		}
		seen[w.id] = i
		wishes[i] = w
	}
	if len(failures) > 0 {
		return nil, Several(failures, len(wishes))
	}
	return func(v *view) (dibs.Result, *dibs.Error) {
		result := dibs.Result{Token: token, Replayed: true}
		var failures []dibs.Failure
		for i, w := range wishes {
			d, replayed, err := w.reserve(v)
			if err != nil {
				failures = append(failures, dibs.Failure{Index: i, Err: err})
				continue
			}
			result.Names = append(result.Names, v.show(d))
			result.Replayed = result.Replayed && replayed
		}
		if len(failures) > 0 {
			return dibs.Result{}, Several(failures, len(wishes))
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
	wishes := make([]*reservation, len(c.Values))
	invalid := make([]*dibs.Error, len(c.Values))
	for i, value := range c.Values {
		wishes[i], invalid[i] = p.reservation(dibs.Reserve{
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
		for _, w := range wishes {
			// A candidate without a row is nobody's.
			if w == nil || v.unknown(w.target) {
				continue
			}
			d := v.name(w.target)
			if d.alive() && w.holds(d) {
				return w.first(v, token)
			}
			if ended == nil {
				ended = w.ended(v, d)
			}
		}
		if ended != nil {
			return dibs.Result{}, ended
		}
		var failures []dibs.Failure
		for i, w := range wishes {
			err := invalid[i]
			if w != nil {
				var result dibs.Result
				if result, err = w.first(v, token); err == nil {
					return result, nil
				}
				if err.Code != dibs.CodeNameTaken {
					return dibs.Result{}, err
				}
			}
			failures = append(failures, dibs.Failure{Index: i, Err: err})
		}
		return dibs.Result{}, Several(failures, len(wishes))
	}, nil
}

// first reserves a candidate, or leaves no trace of having tried.
func (w *reservation) first(v *view, token string) (dibs.Result, *dibs.Error) {
	nested := v.nested()
	d, replayed, err := w.reserve(nested)
	nested.close(err == nil)
	if err != nil {
		return dibs.Result{}, err
	}
	return dibs.Result{Names: []dibs.Name{v.show(d)}, Token: token, Replayed: replayed}, nil
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
func (w *reservation) holds(d *nameState) bool { return d.belongsTo(w.token, w.principal) }

// belongsTo reports whether the name's last hold was made with this token, by this
// principal or for one who may act for others.
func (d *nameState) belongsTo(token dibs.TokenHash, principal dibs.Principal) bool {
	return sameToken(d.Token, token) && (d.Principal == principal.Name || principal.HasIn(d.Namespace, dibs.ActForOthers))
}

// alive reports whether the name is held, also when it is past its time and waits
// for a witness.
func (d *nameState) alive() bool { return d.State == dibs.Held || d.State == dibs.Suspect }

// reserve holds the name, or gives back the hold that the token has already.
func (w *reservation) reserve(v *view) (d *nameState, replayed bool, err *dibs.Error) {
	d = v.name(w.target)
	if w.holds(d) {
		// A late duplicate of an old request takes nothing.
		if err := w.over(d); err != nil {
			return nil, false, err
		}
		if d.Intended != w.entity {
			return nil, false, w.refuse(dibs.CodeInvalidToken, "this token holds %s for another entity: use a token for one request only", w.key())
		}
		return d, true, nil
	}
	if err := v.available(w.target, d, w.entity); err != nil {
		return nil, false, err
	}
	if err := w.spent(v, d); err != nil {
		return nil, false, err
	}
	if err := v.mayHold(w); err != nil {
		return nil, false, err
	}
	if err := v.begin(d, w.target); err != nil {
		return nil, false, err
	}
	d.State, d.Status, d.ExpiresAt = dibs.Held, dibs.StatusReserved, v.now.Add(w.ttl)
	v.narrow(0, d.ExpiresAt) // a hold that is over when it is committed is none
	d.Token, d.Principal, d.Intended = w.token, w.principal.Name, w.entity
	d.CorrelationID, d.Meta = w.correlationID, w.meta
	d.Terms.Counted = w.policy.MaxHolds > 0
	v.countHold(d)
	v.save(d, dibs.EventReserved)
	return d, false, nil
}

// over says how the hold ended that a token had, or nothing while it lives.
func (s *target) over(d *nameState) *dibs.Error {
	switch {
	case d.ConfirmedAt != 0:
		return s.refuse(dibs.CodeAlreadyConfirmed, "this token's hold on %s was confirmed already", s.key())
	case d.Status == dibs.StatusReleased:
		return s.refuse(dibs.CodeAlreadyReleased, "this token's hold on %s was released already", s.key())
	case d.Status == dibs.StatusExpired:
		return s.refuse(dibs.CodeAlreadyExpired, "this token's hold on %s ran out at %s", s.key(), d.EndedAt)
	}
	return nil
}

// begin starts a new epoch: everything of the last hold is forgotten, except that its token
// is spent, and that a name that comes out of quarantine remembers it.
func (v *view) begin(d *nameState, s *target) *dibs.Error {
	floor, err := v.namespaceRecord(s)
	if err != nil {
		return err
	}
	if !d.exists() {
		// The row may have been purged: neither epoch nor revision may go back.
		d.Epoch, d.Rev = floor.Epoch, floor.Rev
	}
	forgotten, forgottenAt := d.forgotten(), d.EndedAt
	if forgotten {
		d.remember(s)
	}
	v.saveLapses(d)
	fresh := dibs.NameRecord{
		ID: d.ID, Rev: d.Rev, Namespace: d.Namespace, Scope: d.Scope, Canonical: d.Canonical,
		Value: s.value, Profile: s.policy.profileName,
		Epoch: d.Epoch + 1, CreatedAt: v.now, Established: d.Established,
		Terms: dibs.Terms{
			Witnessed: s.policy.Witness != nil, Many: s.policy.ManyPerEntity,
			Quarantine: s.policy.Quarantine, HoldHistory: s.policy.HoldHistory,
		},
	}
	if d.State == dibs.Quarantined {
		fresh.Owner, fresh.Until = d.Owner, d.Until
	}
	fresh.Spent = v.stillSpent(d.Spent, d.lastToken(d.EndedAt))
	// It may be filed under keys that only others know, in a blind namespace. Elsewhere a
	// skeleton that it had is that of other rules.
	fresh.Links = slices.DeleteFunc(slices.Clone(d.Links), func(l dibs.Link) bool {
		return l.Kind == dibs.LinkMovedTo || (l.Kind == dibs.LinkSkeleton && !s.policy.blind())
	})
	d.NameRecord = fresh
	if forgotten {
		v.retell(d, forgottenAt, d.before)
	}
	if n := v.addToIndex(d, s, floor); n > maxLookAlikes {
		return s.refuse(dibs.CodeTooLarge, "%s looks like %d other names of its entity, the most there may be: decommission one", s.key(), n-1)
	}
	return nil
}
