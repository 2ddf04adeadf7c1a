package rules

import "github.com/calldibs/dibs"

func (p *preparer) settle(c dibs.Settle) (decision, *dibs.Error) {
	if p.principal.Grants == nil && !p.principal.Has(dibs.Operate) { // refused before the row is read
		return nil, mayNotSettle()
	}
	if err := checkVerdict(c.Verdict); err != nil {
		return nil, err
	}
	outcome, entity := c.Verdict.Outcome()
	p.want(nameRef("", c.ID))
	return func(v *view) (dibs.Result, *dibs.Error) {
		n, t, err := p.existingName(v, c, c.ID)
		if err != nil {
			return dibs.Result{}, err
		}
		switch {
		case !p.principal.HasIn(n.Namespace, dibs.Operate):
			return dibs.Result{}, mayNotSettle()
		case n.State == dibs.Suspect:
		case outcome == verdictAbsent && n.Status == dibs.StatusExpired,
			outcome == verdictExists && v.owns(entity, n):
			return v.result(true, n), nil
		case n.State == dibs.Held:
			return dibs.Result{}, t.refuseTaken(n, dibs.Entity{})
		default:
			return dibs.Result{}, t.checkLive(n)
		}
		if err := p.conclude(v, n, t, c.Verdict); err != nil {
			return dibs.Result{}, err
		}
		return v.result(false, n), nil
	}, nil
}

// mayNotSettle makes the refusal for a principal without the right to settle.
func mayNotSettle() *dibs.Error {
	return refuse(dibs.CodeNotOwner, "settling a suspect requires the right to operate")
}

// The outcomes of [dibs.Verdict.Outcome].
const (
	verdictExists  = "exists"
	verdictAbsent  = "absent"
	verdictUnknown = "unknown"
)

// checkVerdict refuses a verdict that decides nothing.
func checkVerdict(verdict dibs.Verdict) *dibs.Error {
	switch outcome, entity := verdict.Outcome(); outcome {
	case verdictExists:
		return checkEntity(entity)
	case verdictAbsent:
		return nil
	default:
		return refuse(dibs.CodeInvalidValue, "a verdict is required: Exists(entity) or Absent")
	}
}

// conclude ends a suspect by a verdict, or says why it cannot.
func (p *preparer) conclude(v *view, n *nameState, t *target, verdict dibs.Verdict) *dibs.Error {
	outcome, entity := verdict.Outcome()
	if outcome == verdictAbsent {
		v.uncountHold(n)
		n.endHold(dibs.StatusExpired, v.now)
		v.save(n, dibs.EventExpired)
		return nil
	}
	return p.confirmHold(v, n, t, dibs.Confirm{Entity: entity})
}
