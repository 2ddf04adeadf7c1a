package rules

import "github.com/calldibs/dibs"

// The HTTP statuses of a [Resolution]. Package net/http is more than the rules need.
const (
	statusOK       = 200
	statusNotFound = 404
	statusGone     = 410
)

// lookUp asks for one name.
func (set *Policies) LookUp(lookup dibs.Lookup) (*Job[dibs.Name], *dibs.Error) {
	p := &preparer{policies: set}
	what := lookup.ID.String()
	find := func(v *view) *nameState { return v.followVisible(lookup.ID, lookup.Sees) }
	if lookup.ID.IsZero() {
		t, err := p.target(lookup.Namespace, lookup.Value, "")
		if err != nil {
			return nil, err
		}
		what = "of " + t.key()
		find = func(v *view) *nameState { return v.lookUp(t) }
	} else {
		p.want(nameRef("", lookup.ID))
	}
	return newQuestion(p, func(v *view) (dibs.Name, *dibs.Error) {
		none := &dibs.Error{Code: dibs.CodeNotFound, Message: "there is no reservation " + what}
		n := find(v)
		if n == nil {
			return dibs.Name{}, none
		}
		name := v.show(n)
		if !lookup.Shows(name) {
			return dibs.Name{}, none // before the entity is read, see followVisible
		}
		if lookup.Version && (n.State == dibs.Active || n.State == dibs.Alias) {
			name.Version = v.entity(n.Scope, n.Owner).Rev
		}
		return name, nil
	}), nil
}

// resolve asks where a name leads.
func (set *Policies) Resolve(namespace, value string) (*Job[dibs.Resolution], *dibs.Error) {
	p := &preparer{policies: set}
	t, err := p.target(namespace, value, "")
	if err != nil {
		return nil, err
	}
	return newQuestion(p, func(v *view) (dibs.Resolution, *dibs.Error) { return resolve(v, t), nil }), nil
}

// resolve follows a name to its entity, and an alias on to the entity's active
// name: one hop, so there are no chains and no loops.
func resolve(v *view, t *target) dibs.Resolution {
	n := v.name(t)
	answer := dibs.Resolution{Outcome: dibs.ResolveNotFound, Canonical: t.canonical, Status: statusNotFound}
	if n.State == dibs.Alias || n.State == dibs.Quarantined {
		answer.Until = n.Until.Time()
	}
	gone := answer
	gone.Outcome, gone.Status = dibs.ResolveGone, statusGone
	switch n.State {
	case dibs.Active, dibs.Alias:
	case dibs.Quarantined:
		return gone
	default:
		return answer
	}
	e := v.entity(n.Scope, n.Owner)
	switch {
	case e.Deleted: // its names are about to follow
		return gone
	case e.Archived && t.policy.ArchivedStatus == statusGone:
		return gone
	case e.Archived:
		return answer
	}
	answer.Entity = n.Owner
	if n.State == dibs.Active {
		answer.Outcome, answer.Status = dibs.ResolveActive, statusOK
		return answer
	}
	id, has := e.Active[n.slot()]
	if !has {
		// The policy may have changed to or from many names since: then there is one
		// name that the alias can mean, or none.
		active := e.activeIn(n.Namespace)
		if len(active) != 1 || n.Terms.Many == t.policy.ManyPerEntity {
			return gone
		}
		id = active[0]
	}
	active := v.nameByID(id, n.Scope)
	if active == nil {
		return gone
	}
	to := v.show(active)
	answer.Outcome, answer.Status, answer.To = dibs.ResolveMoved, t.policy.RedirectStatus, &to
	return answer
}

// entityAt is the record of an entity at a moment.
type EntityAsOf struct {
	*dibs.EntityRecord
	Now dibs.Instant
}

// findEntity asks for an entity that has, or had, a name.
func (set *Policies) FindEntity(scope string, entity dibs.Entity) (*Job[EntityAsOf], *dibs.Error) {
	p := &preparer{policies: set}
	if err := p.prepareEntity(scope, entity); err != nil {
		return nil, err
	}
	return newQuestion(p, func(v *view) (EntityAsOf, *dibs.Error) {
		e, err := v.existingEntity(scope, entity)
		return EntityAsOf{e.EntityRecord, v.now}, err
	}), nil
}

// namespacesOf asks which reservations have a row, and in which namespace.
func (set *Policies) NamespacesOf(ids []dibs.ID) *Job[map[dibs.ID]string] {
	p := &preparer{policies: set}
	for _, id := range ids {
		p.want(nameRef("", id))
	}
	return newQuestion(p, func(v *view) (map[dibs.ID]string, *dibs.Error) {
		exist := make(map[dibs.ID]string)
		for _, id := range ids {
			if n, ok := v.peek(nameRef("", id)).(*dibs.NameRecord); ok {
				exist[id] = n.Namespace
			}
		}
		return exist, nil
	})
}

// standAt returns a name as it stands at a moment.
func ShowAsOf(r *dibs.NameRecord, now dibs.Instant) (dibs.Name, PastEnd) {
	n := stateOf(r, now)
	return nameOf(&n.NameRecord, now), PastEnd{r.Ref(), r.Rev, n.lapsedAt()}
}

// stateAt returns the state of a name at a moment.
func StateAsOf(r *dibs.NameRecord, now dibs.Instant) dibs.State { return stateOf(r, now).State }

// draftAt returns a record as it stands at a moment.
func stateOf(r *dibs.NameRecord, now dibs.Instant) *nameState {
	n := &nameState{NameRecord: *r, before: snapshotOf(r)}
	n.lapse(now)
	return n
}

// readNames asks for names by their records' refs; nil stands for a name without a row.
func (set *Policies) ReadNames(refs []dibs.Ref) *Job[[]*dibs.Name] {
	p := &preparer{policies: set}
	p.want(refs...)
	return newQuestion(p, func(v *view) ([]*dibs.Name, *dibs.Error) {
		names := make([]*dibs.Name, len(refs))
		for i, ref := range refs {
			if n := v.nameByID(ref.ID, ref.Scope); n != nil {
				name := v.show(n)
				names[i] = &name
			}
		}
		return names, nil
	})
}

// revision asks for the revision of a name's row, 0 if there is none.
func (set *Policies) Revision(ref dibs.Ref) *Job[uint64] {
	p := &preparer{policies: set}
	p.want(ref)
	return newQuestion(p, func(v *view) (uint64, *dibs.Error) {
		if n := v.nameByID(ref.ID, ref.Scope); n != nil {
			return n.Rev, nil
		}
		return 0, nil
	})
}

// foundName is a name that was asked for, with what it takes to read its history.
type FoundName struct {
	target *target
	state  *nameState
}

// findName asks for a name, which may be free.
func (set *Policies) FindName(namespace, value string) (*Job[FoundName], *dibs.Error) {
	p := &preparer{policies: set}
	t, err := p.target(namespace, value, "")
	if err != nil {
		return nil, err
	}
	return newQuestion(p, func(v *view) (FoundName, *dibs.Error) { return FoundName{t, v.name(t)}, nil }), nil
}

// row returns the ID and the revision of the name's row.
func (n FoundName) Row() (dibs.ID, uint64) { return n.state.ID, n.state.Rev }

// formerRows returns the rows that had the name before the rules of its namespace changed.
func (n FoundName) FormerRows() []dibs.ID { return n.state.linked(dibs.LinkMovedFrom) }

// means reports whether a value is this name, by the present rules.
func (n FoundName) Means(value string) bool { return n.target.means(value) }

// endedAlone calls fn with what ended by itself and is not in the history yet, newest first,
// until fn returns false: the date, and what was so from then on.
func (n FoundName) EndedAlone(fn func(at dibs.Instant, now dibs.Snapshot) bool) {
	for i := len(n.state.lapses) - 1; i >= 0; i-- {
		if l := n.state.lapses[i]; !fn(l.at, l.after) {
			return
		}
	}
}
