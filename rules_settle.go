package dibs

import "time"

// How long a witness that does not know is left alone: twice as long each time.
const (
	firstPause = 5 * time.Second
	maxPause   = time.Hour
)

func (c Settle) prepare(p *preparer) (decision, *Error) {
	if p.principal.Grants == nil && !p.principal.Has(Operate) { // nor does it learn whether there is such a row
		return nil, mustOperate("settling a suspect")
	}
	if err := c.Verdict.check(); err != nil {
		return nil, err
	}
	p.want(Ref{Kind: KindName, ID: c.ID})
	return func(v *view) (Result, *Error) {
		d, s, err := p.existing(v, c, c.ID)
		if err != nil {
			return Result{}, err
		}
		switch {
		case !p.principal.hasIn(d.Namespace, Operate):
			return Result{}, mustOperate("settling a suspect")
		case d.State == Suspect:
		case c.Verdict.kind == absent && d.Status == StatusExpired,
			c.Verdict.kind == exists && v.has(c.Verdict.entity, d):
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

// conclude ends a suspect by a verdict, or says why it cannot.
func (p *preparer) conclude(v *view, d *draft, s *subject, verdict Verdict) *Error {
	if verdict.kind == absent {
		v.uncountHold(d)
		d.endHold(StatusExpired, v.now)
		v.save(d, EventExpired)
		return nil
	}
	return p.confirm(v, d, s, Confirm{Entity: verdict.entity})
}

// testimony is what a witness said about a hold.
type testimony struct {
	id      ID
	epoch   uint64
	expires time.Time // the end of the hold as it was when the witness was asked
	verdict Verdict
	doubt   string // why there is no verdict
	absent  bool   // there was no witness to ask
}

// testify is the registry's own decision about what a witness said: the suspect is
// ended, or stays one with a doubt and is left alone for a while.
func (p *preparer) testify(t testimony) decision {
	p.want(Ref{Kind: KindName, ID: t.id})
	return func(v *view) (Result, *Error) {
		d := v.follow(t.id, "")
		if d == nil || d.State != Suspect || d.Epoch != t.epoch || !d.ExpiresAt.Time().Equal(t.expires) {
			// It was settled by somebody else meanwhile; or its holder came back, extended it and
			// may have saved since, which the witness could not know.
			return Result{Replayed: true}, nil
		}
		doubt := t.doubt
		if t.verdict.kind != unknown {
			err := p.tryVerdict(v, d, t.verdict)
			if err == nil {
				return Result{Names: []Name{v.show(v.nameByID(d.ID, d.Scope))}}, nil
			}
			doubt = "the witness says that it exists, but: " + err.Message
		}
		d.AskAt, d.Doubt = v.now.Add(pause(d.Asked)), doubt
		if t.absent {
			d.AskAt = v.now.Add(firstPause) // somebody else's witness is not to wait longer
		} else {
			d.Asked++
		}
		v.keep(d)
		return Result{Names: []Name{v.show(d)}}, nil
	}
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
