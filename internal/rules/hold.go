package rules

import (
	"time"

	"github.com/calldibs/dibs"
)

func (p *preparer) extend(c dibs.Extend) decision {
	return p.onHold(c, c.ID, c.Token, func(v *view, n *nameState, t *target) (dibs.Result, *dibs.Error) {
		if err := t.checkLive(n); err != nil {
			return dibs.Result{}, err
		}
		ttl, err := t.policy.ttl(c.TTL)
		if err != nil {
			return dibs.Result{}, t.about(err)
		}
		expiresAt := v.now.Add(ttl)
		if limit := n.CreatedAt.Add(t.policy.MaxHold); expiresAt > limit {
			return dibs.Result{}, t.refuse(dibs.CodeTTLTooLong, "%s was reserved at %s and can be held until %s at most", t.key(), n.CreatedAt, limit)
		}
		if n.State == dibs.Held && expiresAt <= n.ExpiresAt {
			return v.result(true, n), nil
		}
		n.State, n.Status, n.ExpiresAt = dibs.Held, dibs.StatusReserved, expiresAt
		v.narrow(0, expiresAt)
		n.AskAt, n.Doubt = 0, ""
		v.countHold(n)
		v.save(n, dibs.EventExtended)
		return v.result(false, n), nil
	})
}

func (p *preparer) release(c dibs.Release) decision {
	return p.onHold(c, c.ID, c.Token, func(v *view, n *nameState, t *target) (dibs.Result, *dibs.Error) {
		if n.Status == dibs.StatusReleased && n.ConfirmedAt == 0 {
			return v.result(true, n), nil
		}
		if err := t.checkLive(n); err != nil {
			return dibs.Result{}, err
		}
		v.endHold(n, dibs.StatusReleased, dibs.EventReleased)
		return v.result(false, n), nil
	})
}

func (v *view) endHold(n *nameState, status dibs.Status, kind dibs.EventKind) {
	v.uncountHold(n)
	n.end(status, v.now)
	v.save(n, kind)
}

// onHold prepares a command on a hold: decide gets the name that the token holds or held last. The
// answer to another token is the same as to another principal, so that it does not tell which of
// the two was wrong.
func (p *preparer) onHold(
	c dibs.Command, id dibs.ID, token string, decide func(v *view, n *nameState, t *target) (dibs.Result, *dibs.Error),
) decision {
	hash, err := hashToken(token)
	p.check(err)
	p.want(nameRef("", id))
	return func(v *view) (dibs.Result, *dibs.Error) {
		n, t, err := p.existingName(v, c, id)
		if err != nil {
			return dibs.Result{}, err
		}
		if !n.heldBy(hash, p.principal) {
			return dibs.Result{}, t.refuse(dibs.CodeLost, "this token does not hold %s, or no longer does", t.key())
		}
		return decide(v, n, t)
	}
}

// existingName returns the name with this ID, and its target. A name that the principal may not do
// this to is answered like one that does not exist: an ID can be computed from a name, so any
// difference would tell which names others have.
func (p *preparer) existingName(v *view, c dibs.Command, id dibs.ID) (*nameState, *target, *dibs.Error) {
	n := v.followVisible(id, func(namespace string) bool { return p.principal.Allows(c, namespace) })
	if n == nil || n.forgotten() {
		return nil, nil, refuse(dibs.CodeNotFound, "there is no reservation %s", id)
	}
	ns, _ := p.policies.namespace(n.Namespace) // well-formed, as it has a row
	return n, &target{namespaceInfo: ns, value: n.Value, canonical: n.Canonical, id: n.ID, field: ns.kind}, nil
}

func (p *preparer) confirm(c dibs.Confirm) decision {
	p.check(checkEntity(c.Entity))
	// The scope is not known before the name is read. Most names have none.
	p.expectAbsent(entityRef("", c.Entity))
	return p.onHold(c, c.ID, c.Token, func(v *view, n *nameState, t *target) (dibs.Result, *dibs.Error) {
		// Ask for the entity before any refusal. Otherwise the Confirms of a list ask one after the
		// other, each with another load.
		v.batch.expectAbsent(entityRef(t.scope, c.Entity))
		if v.owns(c.Entity, n) {
			return v.ownedResult(n, true), nil
		}
		if n.ConfirmedAt != 0 && (n.State == dibs.Free || n.State == dibs.Quarantined) {
			return dibs.Result{}, t.refuse(dibs.CodeAlreadyReleased, "%s was confirmed and has been given up since", t.key())
		}
		if err := t.checkLive(n); err != nil {
			return dibs.Result{}, err
		}
		if err := p.confirmHold(v, n, t, c); err != nil {
			return dibs.Result{}, err
		}
		return v.ownedResult(n, false), nil
	})
}

// confirmHold makes a hold the active name of an entity, in place of another one if the command
// says so.
func (p *preparer) confirmHold(v *view, n *nameState, t *target, c dibs.Confirm) *dibs.Error {
	if err := t.checkIntended(n, c.Entity); err != nil {
		return err
	}
	e := v.entity(t.scope, c.Entity)
	if err := t.mayOwn(e); err != nil {
		return err
	}
	var old *nameState
	if c.Replace || c.Replaces != "" {
		var which *target
		if c.Replaces != "" { // its namespace is known only now
			if which, _ = p.locate(t.namespace, c.Replaces, t.field); which.invalid != nil {
				return which.invalid
			}
		}
		var err *dibs.Error
		if old, err = v.activeToReplace(t, e, which); err != nil {
			return err
		}
	} else if err := t.mayAdd(e); err != nil {
		return err
	}
	v.uncountHold(n)
	v.makeActive(old, n, e, t, dibs.EventConfirmed)
	return nil
}

func (t *target) checkIntended(n *nameState, entity dibs.Entity) *dibs.Error {
	if !n.Intended.IsZero() && n.Intended != entity {
		return t.refuse(dibs.CodeNotOwner, "%s was reserved for an entity other than %s", t.key(), entity)
	}
	return nil
}

func (p *preparer) settle(c dibs.Settle) decision {
	outcome, entity := c.Verdict.Outcome()
	if p.principal.Grants == nil && !p.principal.Has(dibs.Operate) { // refused before the row is read
		p.check(mayNotSettle())
	}
	switch outcome {
	case verdictExists:
		p.check(checkEntity(entity))
	case verdictAbsent:
	default:
		p.check(refuse(dibs.CodeInvalidValue, "a verdict is required: Exists(entity) or Absent"))
	}
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
		if outcome == verdictAbsent {
			v.endHold(n, dibs.StatusExpired, dibs.EventExpired)
		} else if err := p.confirmHold(v, n, t, dibs.Confirm{Entity: entity}); err != nil {
			return dibs.Result{}, err
		}
		return v.result(false, n), nil
	}
}

func mayNotSettle() *dibs.Error {
	return refuse(dibs.CodeNotOwner, "settling a suspect requires the right to operate")
}

// The outcomes of [dibs.Verdict.Outcome].
const (
	verdictExists = "exists"
	verdictAbsent = "absent"
)

// How long to wait before a witness that does not know is asked again: twice as long each time.
const (
	firstPause = 5 * time.Second
	maxPause   = time.Hour
)

// Testimony is what a witness said about a hold.
type Testimony struct {
	ID      dibs.ID
	Epoch   uint64
	Expires time.Time // the end of the hold as it was when the witness was asked
	Verdict dibs.Verdict
	Doubt   string // why there is no verdict
	Unasked bool   // this process has no witness
}

// Testify acts on what a witness said: the suspect is ended, or stays a suspect with a doubt, and
// its witness is not asked for a while. The outcome says whether it was ended.
func (set *Policies) Testify(t Testimony) *Job[bool] {
	p := &preparer{policies: set, principal: dibs.Principal{Rights: dibs.Operate}}
	settle := p.settle(dibs.Settle{ID: t.ID, Verdict: t.Verdict})
	invalid := p.takeRefusal()
	return newJob(p, func(v *view) (settled bool, _ *dibs.Error) {
		n := v.follow(t.ID, "")
		if n == nil || n.State != dibs.Suspect || n.Epoch != t.Epoch || !n.ExpiresAt.Time().Equal(t.Expires) {
			// The suspect has ended; or its holder has extended it, and may have saved its entity
			// since, which the witness could not know.
			return false, nil
		}
		doubt := t.Doubt
		if outcome, _ := t.Verdict.Outcome(); outcome == verdictExists && invalid != nil {
			doubt = "the witness says that it exists but names no valid entity"
		} else if invalid == nil {
			_, err := v.try(settle)
			if err == nil {
				return true, nil
			}
			doubt = "the witness says that it exists, but the verdict cannot be applied: " + err.Message
		}
		pause := firstPause
		if !t.Unasked { // otherwise another process may have a witness
			pause = min(firstPause<<min(n.Asked, 16), maxPause) // without an overflow
			n.Asked++
		}
		n.AskAt, n.Doubt = v.now.Add(pause), doubt
		v.saveQuietly(n)
		return false, nil
	})
}
