package rules

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

// RedactAtOnce is how many events are redacted in one commit. Every engine can do so many.
const RedactAtOnce = 8

// forgottenFor is how long the record of a forgotten entity keeps its revision: longer than any
// decision takes.
const forgottenFor = 30 * 24 * time.Hour

// Forgotten is the outcome of forgetting one name.
type Forgotten struct {
	Changed bool
	Again   bool // decide again, with the history read anew unless there are Redacted events
	Erased  bool // the name is a tombstone now; else only its history was redacted
	Unknown bool // there is neither a name nor a tombstone
	Name    *dibs.Name
	// Redacted replace events of the history, which is then known up to the revision Rev.
	Redacted []dibs.Event
	Rev      uint64
}

// ForgetName forgets one name, and its rows from before the rules of its namespace changed.
func (set *Policies) ForgetName(req dibs.ForgetRequest) (*Job[Forgotten], *dibs.Error) {
	p := set.preparer()
	t := p.target(req.Namespace, req.Value, "")
	p.check(checkOptionalEntity(req.Entity))
	if req.Scope != "" && req.Scope != t.scope {
		p.check(t.refuse(dibs.CodeInvalidNamespace, "%s is not in the scope %s", t.namespace, quote(req.Scope)))
	}
	j := newJob(p, func(v *view) (Forgotten, *dibs.Error) {
		if v.hasNoRow(t) {
			return Forgotten{Unknown: true}, nil
		}
		n := v.name(t)
		if n.forgotten() {
			return Forgotten{}, nil
		}
		if err := t.mayForget(n, req.Entity); err != nil {
			return Forgotten{}, err
		}
		for _, id := range n.linked(dibs.LinkMovedFrom) {
			if v.absent(nameRef(n.Scope, id)) {
				continue
			}
			former := v.nameByID(id, n.Scope)
			if former.State == dibs.Free && slices.Contains(former.linked(dibs.LinkMovedTo), n.ID) {
				p.erase(v, former)
			}
		}
		return p.erase(v, n), nil
	})
	j.dryRun = req.DryRun
	return j, p.refused
}

// mayForget refuses to forget a name that is taken, unless it is that entity's.
func (t *target) mayForget(n *nameState, entity dibs.Entity) *dibs.Error {
	has := cmp.Or(n.entity(), n.Intended)
	switch {
	case !entity.IsZero() && !has.IsZero() && has != entity:
		return t.refuse(dibs.CodeNotOwner, "%s is not a name of %s", t.key(), entity)
	case n.State == dibs.Free, n.State == dibs.Quarantined, !entity.IsZero() && has == entity:
		return nil
	default:
		err := t.refuseTaken(n, dibs.Entity{})
		err.Message += ": name the entity that has it, or forget the entity"
		return err
	}
}

// ForgetIn forgets a person in the row of a name, whose history is known up to a revision, with the histories of
// the other rows in which the name was or is. One commit redacts at most [RedactAtOnce] events.
func (set *Policies) ForgetIn(ref dibs.Ref, who Person, rev uint64, history []dibs.Event, others [][]dibs.Event, dryRun bool) *Job[Forgotten] {
	atOnce := RedactAtOnce
	if dryRun {
		atOnce = len(history)
	}
	p := set.preparer(ref)
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
			return p.erase(v, n), nil
		}
		r := who.redact(history, who.heritage(others))
		if len(r.events) == 0 && !r.row {
			return Forgotten{}, nil
		}
		// With the first commit: the next one finds less in the history.
		n.Spent = slices.DeleteFunc(slices.Clone(n.Spent), r.concerns)
		if r.row && !n.held() { // a hold that came here from another row is not the person's
			n.dropDetails()
		}
		if len(r.events) > atOnce {
			v.redacts = append(v.redacts, r.events[:atOnce]...)
			v.saveQuietly(n)
			if n.Rev != rev+1 { // ends by themselves are in the history now
				return Forgotten{Again: true}, nil
			}
			return Forgotten{Again: true, Redacted: r.events[:atOnce], Rev: n.Rev}, nil
		}
		v.redacts = append(v.redacts, r.events...)
		v.save(n, dibs.EventForgotten)
		return Forgotten{Changed: true, Name: new(n.show(v.now))}, nil
	})
	j.dryRun = dryRun
	return j
}

// ForgottenEntity is the outcome of [Policies.ForgetEntity].
type ForgottenEntity struct {
	Changed  bool
	HasNames bool // nothing was done, because the entity still has names
}

// ForgetEntity forgets the record of a person's entity, and [RedactAtOnce] events at most about the
// entity as a whole.
func (set *Policies) ForgetEntity(who Person, events []dibs.Event) *Job[ForgottenEntity] {
	ref := entityRef(who.Scope, who.Entity)
	return newJob(set.preparer(ref), func(v *view) (ForgottenEntity, *dibs.Error) {
		r, ok := v.peek(ref).(*dibs.EntityRecord)
		if len(events) == 0 && (v.absent(ref) || ok && isForgotten(r)) {
			return ForgottenEntity{}, nil
		}
		if names, _ := v.namesOf(who.Scope, who.Entity); slices.ContainsFunc(names, func(id dibs.ID) bool {
			n := v.nameByID(id, who.Scope)
			return n != nil && n.ownedBy(who.Entity)
		}) {
			return ForgottenEntity{HasNames: true}, nil
		}
		for _, e := range events {
			e.Entity, e.Actor, e.Version = dibs.Entity{}, "", 0
			v.redacts = append(v.redacts, e)
		}
		e := v.entity(who.Scope, who.Entity)
		v.renew(ref)
		v.put(ref, &dibs.EntityRecord{ID: e.ID, Rev: e.Rev + 1, Scope: e.Scope, Deleted: true, Due: v.now.Add(forgottenFor)})
		return ForgottenEntity{Changed: true}, nil
	})
}

// HasEntity asks whether there is a record of a person's entity, or of one that was forgotten.
func (set *Policies) HasEntity(who Person) *Job[bool] {
	ref := entityRef(who.Scope, who.Entity)
	return newQuestion(set.preparer(ref), func(v *view) (bool, *dibs.Error) { return !v.absent(ref), nil })
}

// Person is an entity that is to be forgotten.
type Person struct {
	Scope string
	dibs.Entity
}

// IsIn reports whether an event mentions the person.
func (p Person) IsIn(e *dibs.Event) bool {
	return e.Scope == p.Scope && (e.Entity == p.Entity || e.Before.Entity == p.Entity || e.After.Entity == p.Entity)
}

// has reports whether a name is the person's: owned now, held for it, or free and last the
// person's.
func (p Person) has(n *nameState, history []dibs.Event) bool {
	if n.State != dibs.Free {
		return n.entity() == p.Entity
	}
	for _, e := range slices.Backward(history) {
		if !e.After.Entity.IsZero() {
			return e.After.Entity == p.Entity
		}
	}
	return false
}

// heritage is what a name may have of a person from other rows, in which it was before the rules of its
// namespace changed. The zero heritage is nothing.
type heritage struct {
	details      bool            // the details of a hold
	correlations map[string]bool // correlation IDs
}

// heritage returns what a name took with it from rows, by their histories.
func (p Person) heritage(histories [][]dibs.Event) (h heritage) {
	h.correlations = make(map[string]bool)
	for _, history := range histories {
		r := p.redact(history, heritage{})
		h.details = h.details || r.left
		maps.Copy(h.correlations, r.inherited)
	}
	return h
}

// redaction is what the history of another entity's name has about the person.
type redaction struct {
	events []dibs.Event // as they will be; those that tell which epochs were the person's come last
	row    bool         // the row may have details of a hold of the person's
	left   bool         // they left with the name for another row

	epochs    map[uint64]bool // epochs of the person's, and those that inherited from one
	inherited map[string]bool // correlation IDs of the person's
}

// concerns reports whether a token was the person's, or may have been: it is not known for tokens
// that came with the name from another row.
func (r *redaction) concerns(t dibs.SpentToken) bool { return r.epochs[t.Epoch] || t.Epoch == 0 }

// redact finds what a history has about the person. Everything in an epoch of the person's is
// removed, except for the name itself; later events lose what they inherited from such an epoch. A
// history that is redacted in part, the first events of the result first, leads to the rest.
func (p Person) redact(history []dibs.Event, from heritage) (r redaction) {
	epochs := make(map[uint64]bool)
	for i := range history {
		if e := &history[i]; e.After.Entity == p.Entity {
			epochs[e.Epoch] = true
		}
	}
	// A transfer begins an epoch and keeps the details of the hold, so epochs inherit in a chain.
	r.epochs, r.inherited = make(map[uint64]bool), make(map[string]bool)
	maps.Copy(r.inherited, from.correlations)
	for i := range history {
		e := &history[i]
		if beginsEpoch(e.Kind) {
			r.row = false
		}
		if epochs[e.Epoch] {
			r.row = true
			r.inherited[e.CorrelationID] = e.CorrelationID != ""
		}
		if e.Kind == dibs.EventMoved && e.After.State == dibs.Free {
			r.left = r.left || r.row
		} else if e.Kind == dibs.EventMoved && from.details { // they came here with the name
			r.row = true
		}
		r.epochs[e.Epoch] = r.row
	}
	var last []dibs.Event
	for _, e := range history {
		redacted := e
		if epochs[e.Epoch] {
			redacted.Actor, redacted.CorrelationID, redacted.Meta = "", "", nil
		}
		if r.inherited[e.CorrelationID] {
			redacted.CorrelationID = ""
		}
		if e.Entity == p.Entity {
			redacted.Version = 0
		}
		for _, entity := range []*dibs.Entity{&redacted.Entity, &redacted.Before.Entity, &redacted.After.Entity} {
			if *entity == p.Entity {
				*entity = dibs.Entity{}
			}
		}
		switch {
		case e.After.Entity == p.Entity:
			last = append(last, redacted)
		case !sameEvent(&redacted, &e):
			r.events = append(r.events, redacted)
		}
	}
	r.events = append(r.events, last...)
	return r
}

// sameEvent reports whether a redacted event has as much as the event that it was made from.
func sameEvent(e, from *dibs.Event) bool {
	return e.Entity == from.Entity && e.Before == from.Before && e.After == from.After &&
		e.Actor == from.Actor && e.CorrelationID == from.CorrelationID && len(e.Meta) == len(from.Meta)
}

// dropDetails removes the details of the hold. Its token can no longer replay the Confirm.
func (n *nameState) dropDetails() {
	n.Token, n.Principal, n.CorrelationID, n.Meta, n.Intended = dibs.TokenHash{}, "", "", nil, dibs.Entity{}
}

// forgottenMark is the prefix of the label of a forgotten name. No name has a control character.
const forgottenMark = "\x7f"

// ForgottenLabel replaces the canonical form of a forgotten name.
func ForgottenLabel(id dibs.ID) string { return forgottenMark + id.String() }

// forgotten reports whether the row is a tombstone: it keeps a name in quarantine as long as the
// policy promised, and does not contain the name.
func (n *nameState) forgotten() bool { return strings.HasPrefix(n.Canonical, forgottenMark) }

// isForgotten reports whether only a revision is left of the entity.
func isForgotten(e *dibs.EntityRecord) bool { return e.Entity.IsZero() }

// HideForgotten removes the labels of forgotten names from events, in place, and returns them.
func HideForgotten(events []dibs.Event) []dibs.Event {
	for i := range events {
		if e := &events[i]; strings.HasPrefix(e.Canonical, forgottenMark) {
			e.Canonical, e.Value = "", ""
		}
	}
	return events
}

// erase makes a tombstone of a name in any state. A quarantine goes on, for every entity: the
// tombstone does not know the owner.
func (p *preparer) erase(v *view, n *nameState) Forgotten {
	policy := p.policyOf(n)
	shown := n.show(v.now)
	v.endUse(n, policy)
	shown.State, shown.Until = n.State, n.Until.Time()
	n.NameRecord = dibs.NameRecord{
		ID: n.ID, Rev: n.Rev, Namespace: n.Namespace, Scope: n.Scope,
		Value: ForgottenLabel(n.ID), Canonical: ForgottenLabel(n.ID),
		State: n.State, Status: dibs.StatusReleased, Epoch: n.Epoch, EndedAt: v.now, Until: n.Until,
		Terms: dibs.Terms{HoldHistory: policy.HoldHistory},
		// Its look-alikes stay in quarantine too, and a keyed hash still leads here.
		Links: slices.DeleteFunc(slices.Clone(n.Links), func(l dibs.Link) bool {
			_, indexed := indexKinds[l.Kind]
			return !indexed
		}),
	}
	n.before.Entity, n.lapses = dibs.Entity{}, nil
	v.restartHistory(n, v.now, n.snapshot())
	v.store(n)
	return Forgotten{Changed: true, Erased: true, Name: &shown}
}

// endUse ends a hold or an ownership, and what counts for it elsewhere.
func (v *view) endUse(n *nameState, policy *policy) {
	switch n.State {
	case dibs.Active, dibs.Alias:
		e := v.entity(n.Scope, n.Owner)
		e.deactivate(n)
		v.saveEntity(e)
		n.giveUp(policy.Quarantine, v.now)
	case dibs.Held, dibs.Suspect:
		v.uncountHold(n)
		n.end(dibs.StatusReleased, v.now)
	case dibs.Free, dibs.Quarantined:
	}
	v.dropQuota(n)
}

// restartHistory begins the history of a row anew, with an event that says so: followers of the
// feed may not have read the events that it deletes.
func (v *view) restartHistory(n *nameState, at dibs.Instant, now dibs.Snapshot) {
	v.renew(n.Ref())
	v.record(n, dibs.EventForgotten, at, "", now)
}
