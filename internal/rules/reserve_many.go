package rules

import "github.com/calldibs/dibs"

// reserveAll prepares a ReserveAll: all names or none, with one token.
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
				err = r.refuse(dibs.CodeInvalidToken, "one token holds all of them: set ReserveAll.Token and leave the others empty")
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

// reserveFirst prepares a ReserveFirst: the first of several candidates that can be reserved.
func (p *preparer) reserveFirst(c dibs.ReserveFirst) (decision, *dibs.Error) {
	token, hash, err := chooseToken(c.Token)
	if err != nil {
		return nil, err
	}
	if err := checkCount(len(c.Values)); err != nil {
		return nil, err
	}
	reservations := make([]*reservation, len(c.Values))
	invalid := make([]*dibs.Error, len(c.Values))
	for i, value := range c.Values {
		reservations[i], invalid[i] = p.reservation(dibs.Reserve{
			Namespace: c.Namespace, Value: value, TTL: c.TTL, Entity: c.Entity, CorrelationID: c.CorrelationID,
			Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, hash)
		if err := invalid[i]; err != nil && !isAboutValue(err) {
			return nil, err
		}
	}
	return func(v *view) (dibs.Result, *dibs.Error) {
		if result, err := replayFirst(v, reservations, token); err != nil || result.Replayed {
			return result, err
		}
		return reserveFirst(v, reservations, invalid, token)
	}, nil
}

// replayFirst returns the candidate that the token holds, or refuses if the token held one. These
// come before free candidates: a late duplicate must not take another name.
func replayFirst(v *view, reservations []*reservation, token string) (dibs.Result, *dibs.Error) {
	var ended *dibs.Error
	for _, r := range reservations {
		if r == nil || v.hasNoRow(r.target) {
			continue
		}
		n := v.name(r.target)
		switch last := n.heldBy(r.token, r.principal); {
		case last && n.held():
			return r.try(v, token)
		case ended != nil:
		case last:
			ended = r.checkLive(n)
		default:
			ended = r.checkSpent(v, n)
		}
	}
	return dibs.Result{}, ended
}

// reserveFirst reserves the first candidate that is free. An invalid one, which has no reservation,
// counts like a taken one.
func reserveFirst(v *view, reservations []*reservation, invalid []*dibs.Error, token string) (dibs.Result, *dibs.Error) {
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
}

// try reserves a candidate, or changes nothing.
func (r *reservation) try(v *view, token string) (dibs.Result, *dibs.Error) {
	nested := v.nested()
	n, replayed, err := r.reserve(nested)
	nested.close(err == nil)
	if err != nil {
		return dibs.Result{}, err
	}
	return dibs.Result{Names: []dibs.Name{v.show(n)}, Token: token, Replayed: replayed}, nil
}

func checkCount(n int) *dibs.Error {
	if n == 0 {
		return refuse(dibs.CodeInvalidValue, "the list is empty")
	}
	return checkAtMost(n, maxNames, "names in one command")
}
