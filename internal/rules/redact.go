package rules

import (
	"slices"

	"github.com/calldibs/dibs"
)

// person is an entity that is to be forgotten.
type Person struct {
	Scope string
	dibs.Entity
}

// isIn reports whether an event tells of the person.
func (p Person) IsIn(e *dibs.Event) bool {
	return e.Scope == p.Scope && (e.Entity == p.Entity || e.Before.Entity == p.Entity || e.After.Entity == p.Entity)
}

// has reports whether a name is the person's: its own now, held for it, or nobody's since.
func (p Person) has(n *nameState, history []dibs.Event) bool {
	switch n.State {
	case dibs.Held, dibs.Suspect:
		return n.Intended == p.Entity
	case dibs.Active, dibs.Alias, dibs.Quarantined:
		return n.Owner == p.Entity
	default:
		last := dibs.Entity{}
		for i := range history {
			if e := history[i].After.Entity; !e.IsZero() {
				last = e
			}
		}
		return last == p.Entity
	}
}

// redaction is what of the history of somebody else's name tells of the person.
type redaction struct {
	events []dibs.Event // as they are to be
	row    bool         // the row has details of a hold that was the person's

	epochs map[uint64]bool // those that the person had a part in, or that came from one
}

func (r redaction) empty() bool { return len(r.events) == 0 && !r.row }

// concerns reports whether a token was the person's, or may have been: of tokens that came
// with the name from another row nobody knows.
func (r *redaction) concerns(t dibs.SpentToken) bool { return r.epochs[t.Epoch] || t.Epoch == 0 }

// redact finds what there is of the person in a history. Whatever happened in an epoch of
// the person's goes, but for the name itself; of what happened later, what was handed
// down from then.
func (p Person) redact(n *nameState, history []dibs.Event) (r redaction) {
	epochs := make(map[uint64]bool)
	for i := range history {
		if e := &history[i]; e.After.Entity == p.Entity {
			epochs[e.Epoch] = true
		}
	}
	// Epochs go by in a chain: a transfer begins one, and keeps the details of the hold.
	inherited := make(map[string]bool) // correlation ids
	r.epochs = make(map[uint64]bool)
	for i := range history {
		e := &history[i]
		if e.Kind == dibs.EventReserved || e.Kind == dibs.EventClaimed {
			r.row = false
		}
		if epochs[e.Epoch] {
			r.row = true
			inherited[e.CorrelationID] = e.CorrelationID != ""
		}
		r.epochs[e.Epoch] = r.row
	}
	for _, e := range history {
		less := e
		if epochs[e.Epoch] {
			less.Actor, less.CorrelationID, less.Meta = "", "", nil
		}
		if inherited[e.CorrelationID] {
			less.CorrelationID = ""
		}
		if e.Entity == p.Entity {
			less.Version = 0
		}
		for _, entity := range []*dibs.Entity{&less.Entity, &less.Before.Entity, &less.After.Entity} {
			if *entity == p.Entity {
				*entity = dibs.Entity{}
			}
		}
		if !sameEvent(&less, &e) {
			r.events = append(r.events, less)
		}
	}
	r.row = r.row && n.hasDetails()
	return r
}

// sameEvent reports whether a redacted event tells as much as the one that it was made from.
func sameEvent(e, from *dibs.Event) bool {
	return e.Entity == from.Entity && e.Before == from.Before && e.After == from.After &&
		e.Actor == from.Actor && e.CorrelationID == from.CorrelationID && len(e.Meta) == len(from.Meta)
}

// hasDetails reports whether the row of an owned name has details of the hold that it
// came from.
func (n *nameState) hasDetails() bool {
	return !n.held() && (!n.Token.IsZero() || n.Principal != "" || n.CorrelationID != "" || len(n.Meta) > 0 || !n.Intended.IsZero())
}

// dropDetails removes them. Whoever has the token cannot replay its Confirm any more.
func (n *nameState) dropDetails() {
	n.Token, n.Principal, n.CorrelationID, n.Meta, n.Intended = dibs.TokenHash{}, "", "", nil, dibs.Entity{}
}

// forgetIn forgets a person in the row of a name, whose history is known up to a revision.
// At most atOnce events are redacted in one commit.
func (set *Policies) ForgetIn(ref dibs.Ref, who Person, rev uint64, history []dibs.Event, dryRun bool) *Job[Forgotten] {
	atOnce := RedactAtOnce
	if dryRun {
		atOnce = len(history)
	}
	p := &preparer{policies: set}
	p.want(ref)
	j := newJob(p, func(v *view) (Forgotten, *dibs.Error) {
		if v.absent(ref) {
			return Forgotten{}, nil
		}
		n := v.nameByID(ref.ID, ref.Scope)
		if n.Rev != rev {
			return Forgotten{Again: true}, nil
		}
		if n.forgotten() {
			return Forgotten{}, nil
		}
		if who.has(n, history) {
			return p.erase(v, n)
		}
		r := who.redact(n, history)
		if r.empty() {
			return Forgotten{}, nil
		}
		n.Spent = slices.DeleteFunc(slices.Clone(n.Spent), r.concerns) // now: half a history tells less
		if len(r.events) > atOnce {
			v.redacts = append(v.redacts, r.events[:atOnce]...)
			v.saveQuietly(n)
			return Forgotten{Again: true}, nil
		}
		v.redacts = append(v.redacts, r.events...)
		if r.row {
			n.dropDetails()
		}
		v.save(n, dibs.EventForgotten)
		name := v.show(n)
		return Forgotten{Changed: true, Name: &name}, nil
	})
	j.dryRun = dryRun
	return j
}

// forgottenEntity is what forgetting the record of a person came to.
type ForgottenEntity struct {
	Changed  bool
	HasNames bool // then nothing was done
}

// forgetEntity forgets what there is of a person besides names: events about the entity as a
// whole, [redactAtOnce] at the most, and its record.
func (set *Policies) ForgetEntity(who Person, events []dibs.Event) *Job[ForgottenEntity] {
	p := &preparer{policies: set}
	p.wantEntity(who.Scope, who.Entity)
	return newJob(p, func(v *view) (ForgottenEntity, *dibs.Error) {
		ref := entityRef(who.Scope, who.Entity)
		r, ok := v.peek(ref).(*dibs.EntityRecord)
		if len(events) == 0 && (v.absent(ref) || ok && isForgotten(r)) {
			return ForgottenEntity{}, nil
		}
		if names, _ := v.namesOf(who.Scope, who.Entity); slices.ContainsFunc(names, func(id dibs.ID) bool {
			n := v.nameByID(id, who.Scope)
			return n != nil && (n.State == dibs.Active || n.State == dibs.Alias) && n.Owner == who.Entity
		}) {
			return ForgottenEntity{HasNames: true}, nil
		}
		for _, e := range events {
			e.Entity, e.Actor, e.Version = dibs.Entity{}, "", 0
			v.redacts = append(v.redacts, e)
		}
		e := v.entity(who.Scope, who.Entity)
		tomb := &dibs.EntityRecord{ID: e.ID, Rev: e.Rev + 1, Scope: e.Scope, Deleted: true, Due: v.now.Add(forgottenFor)}
		v.renew(ref)
		v.put(ref, tomb)
		return ForgottenEntity{Changed: true}, nil
	})
}
