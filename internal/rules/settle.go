package rules

import (
	"time"

	"github.com/calldibs/dibs"
)

// How long a witness that does not know is left alone: twice as long each time.
const (
	firstPause = 5 * time.Second
	maxPause   = time.Hour
)

func (p *preparer) settle(c dibs.Settle) (decision, *dibs.Error) {
	if p.principal.Grants == nil && !p.principal.Has(dibs.Operate) { // nor does it learn whether there is such a row
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
			return v.result(n, true), nil
		case n.State == dibs.Held:
			return dibs.Result{}, t.taken(n, dibs.Entity{})
		default:
			return dibs.Result{}, t.checkLive(n)
		}
		if err := p.conclude(v, n, t, c.Verdict); err != nil {
			return dibs.Result{}, err
		}
		return v.result(n, false), nil
	}, nil
}

func mayNotSettle() *dibs.Error {
	return &dibs.Error{Code: dibs.CodeNotOwner, Message: "settling a suspect requires the right to operate"}
}

// The words of [Verdict.Outcome].
const (
	verdictExists  = "exists"
	verdictAbsent  = "absent"
	verdictUnknown = "unknown"
)

// checkVerdict refuses a verdict that cannot be acted upon.
func checkVerdict(verdict dibs.Verdict) *dibs.Error {
	switch outcome, entity := verdict.Outcome(); outcome {
	case verdictExists:
		return checkEntity(entity)
	case verdictAbsent:
		return nil
	default:
		return &dibs.Error{Code: dibs.CodeInvalidValue, Message: "a verdict is required: Exists(entity) or Absent"}
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

// testimony is what a witness said about a hold.
type Testimony struct {
	ID      dibs.ID
	Epoch   uint64
	Expires time.Time // the end of the hold as it was when the witness was asked
	Verdict dibs.Verdict
	Doubt   string // why there is no verdict
	Unasked bool   // this process has no witness
}

// testify acts on what a witness said: the suspect is ended, or stays one with a doubt and is
// not asked about for a while. The outcome says whether it was ended.
func (set *Policies) Testify(t Testimony) *Job[bool] {
	p := &preparer{policies: set}
	p.want(nameRef("", t.ID))
	return newJob(p, func(v *view) (settled bool, _ *dibs.Error) {
		n := v.follow(t.ID, "")
		if n == nil || n.State != dibs.Suspect || n.Epoch != t.Epoch || !n.ExpiresAt.Time().Equal(t.Expires) {
			// It was ended meanwhile; or its holder came back, extended it and may have saved its
			// entity since, which the witness could not know.
			return false, nil
		}
		doubt := t.Doubt
		if outcome, entity := t.Verdict.Outcome(); outcome == verdictExists && checkEntity(entity) != nil {
			doubt = "the witness says that it exists but names no valid entity"
		} else if outcome != verdictUnknown {
			err := p.tryVerdict(v, n, t.Verdict)
			if err == nil {
				return true, nil
			}
			doubt = "the witness says that it exists, but the verdict cannot be applied: " + err.Message
		}
		n.AskAt, n.Doubt = v.now.Add(pause(n.Asked)), doubt
		if t.Unasked {
			n.AskAt = v.now.Add(firstPause) // another process may have a witness
		} else {
			n.Asked++
		}
		v.saveQuietly(n)
		return false, nil
	})
}

// tryVerdict ends a suspect by a verdict, or changes nothing and says why not.
func (p *preparer) tryVerdict(v *view, n *nameState, verdict dibs.Verdict) *dibs.Error {
	nested := v.nested()
	suspect, t, err := p.existingName(nested, dibs.Settle{ID: n.ID, Verdict: verdict}, n.ID)
	if err == nil {
		err = p.conclude(nested, suspect, t, verdict)
	}
	nested.close(err == nil)
	return err
}

// pause returns how long to wait before a witness is asked again.
func pause(asked int) time.Duration {
	if asked > 16 { // far past maxPause, and far from overflow
		return maxPause
	}
	return min(firstPause<<asked, maxPause)
}
