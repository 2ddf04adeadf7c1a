package dibs

import "time"

// How long a witness that does not know is left alone: twice as long each time.
const (
	firstPause = 5 * time.Second
	maxPause   = time.Hour
)

func (p *preparer) settle(c Settle) (decision, *Error) {
	if p.principal.Grants == nil && !p.principal.Has(Operate) { // nor does it learn whether there is such a row
		return nil, mayNotSettle()
	}
	if err := checkVerdict(c.Verdict); err != nil {
		return nil, err
	}
	outcome, entity := c.Verdict.Outcome()
	p.want(Ref{Kind: KindName, ID: c.ID})
	return func(v *view) (Result, *Error) {
		d, s, err := p.existing(v, c, c.ID)
		if err != nil {
			return Result{}, err
		}
		switch {
		case !p.principal.HasIn(d.Namespace, Operate):
			return Result{}, mayNotSettle()
		case d.State == Suspect:
		case outcome == verdictAbsent && d.Status == StatusExpired,
			outcome == verdictExists && v.has(entity, d):
			return Result{Names: []Name{v.show(d)}, Replayed: true}, nil
		case d.State == Held:
			return Result{}, s.taken(d, Entity{})
		default:
			return Result{}, s.over(d)
		}
		if err := p.conclude(v, d, s, c.Verdict); err != nil {
			return Result{}, err
		}
		return Result{Names: []Name{v.show(d)}}, nil
	}, nil
}

func mayNotSettle() *Error {
	return &Error{Code: CodeNotOwner, Message: "settling a suspect takes the right to operate"}
}

// The words of [Verdict.Outcome].
const (
	verdictExists  = "exists"
	verdictAbsent  = "absent"
	verdictUnknown = "unknown"
)

// checkVerdict refuses a verdict that cannot be acted upon.
func checkVerdict(verdict Verdict) *Error {
	switch outcome, entity := verdict.Outcome(); outcome {
	case verdictExists:
		return checkEntity(entity)
	case verdictAbsent:
		return nil
	default:
		return &Error{Code: CodeInvalidValue, Message: "a verdict is needed: Exists(entity) or Absent"}
	}
}

// conclude ends a suspect by a verdict, or says why it cannot.
func (p *preparer) conclude(v *view, d *draft, s *subject, verdict Verdict) *Error {
	outcome, entity := verdict.Outcome()
	if outcome == verdictAbsent {
		v.uncountHold(d)
		d.endHold(StatusExpired, v.now)
		v.save(d, EventExpired)
		return nil
	}
	return p.confirmHold(v, d, s, Confirm{Entity: entity})
}

// testimony is what a witness said about a hold.
type testimony struct {
	id      ID
	epoch   uint64
	expires time.Time // the end of the hold as it was when the witness was asked
	verdict Verdict
	doubt   string // why there is no verdict
	unasked bool   // this process has no witness
}

// testify acts on what a witness said: the suspect is ended, or stays one with a doubt and is
// not asked about for a while. The outcome says whether it was ended.
func (set *policies) testify(t testimony) *job[bool] {
	p := &preparer{policies: set}
	p.want(Ref{Kind: KindName, ID: t.id})
	return newJob(p, func(v *view) (settled bool, _ *Error) {
		d := v.follow(t.id, "")
		if d == nil || d.State != Suspect || d.Epoch != t.epoch || !d.ExpiresAt.Time().Equal(t.expires) {
			// It was ended meanwhile; or its holder came back, extended it and may have saved its
			// entity since, which the witness could not know.
			return false, nil
		}
		doubt := t.doubt
		if outcome, entity := t.verdict.Outcome(); outcome == verdictExists && checkEntity(entity) != nil {
			doubt = "the witness says that it exists, but named no valid entity"
		} else if outcome != verdictUnknown {
			err := p.tryVerdict(v, d, t.verdict)
			if err == nil {
				return true, nil
			}
			doubt = "the witness says that it exists, but: " + err.Message
		}
		d.AskAt, d.Doubt = v.now.Add(pause(d.Asked)), doubt
		if t.unasked {
			d.AskAt = v.now.Add(firstPause) // another process may have a witness
		} else {
			d.Asked++
		}
		v.keep(d)
		return false, nil
	})
}

// tryVerdict ends a suspect by a verdict, or changes nothing and says why not.
func (p *preparer) tryVerdict(v *view, d *draft, verdict Verdict) *Error {
	nested := v.nested()
	draft, s, err := p.existing(nested, Settle{ID: d.ID, Verdict: verdict}, d.ID)
	if err == nil {
		err = p.conclude(nested, draft, s, verdict)
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
