package dibs

// The HTTP statuses of a [Resolution]. Package net/http is more than the rules need.
const (
	statusOK       = 200
	statusNotFound = 404
	statusGone     = 410
)

// lookUp asks for one name.
func (set *policies) lookUp(lookup Lookup) (*job[Name], *Error) {
	p := &preparer{policies: set}
	what := lookup.ID.String()
	find := func(v *view) *draft { return v.followVisible(lookup.ID, lookup.Sees) }
	if lookup.ID.IsZero() {
		s, err := p.address(lookup.Namespace, lookup.Value, "")
		if err != nil {
			return nil, err
		}
		what = "of " + s.key()
		find = func(v *view) *draft { return v.lookUp(s) }
	} else {
		p.want(Ref{Kind: KindName, ID: lookup.ID})
	}
	return newQuestion(p, func(v *view) (Name, *Error) {
		none := &Error{Code: CodeNotFound, Message: "there is no reservation " + what}
		d := find(v)
		if d == nil {
			return Name{}, none
		}
		name := v.show(d)
		if !lookup.Shows(name) {
			return Name{}, none // before the entity is read, see followVisible
		}
		if lookup.Version && (d.State == Active || d.State == Alias) {
			name.Version = v.entity(d.Scope, d.Owner).Rev
		}
		return name, nil
	}), nil
}

// resolve asks where a name leads.
func (set *policies) resolve(namespace, value string) (*job[Resolution], *Error) {
	p := &preparer{policies: set}
	s, err := p.address(namespace, value, "")
	if err != nil {
		return nil, err
	}
	return newQuestion(p, func(v *view) (Resolution, *Error) { return resolve(v, s), nil }), nil
}

// resolve follows a name to its entity, and an alias on to the entity's active
// name: one hop, so there are no chains and no loops.
func resolve(v *view, s *subject) Resolution {
	d := v.name(s)
	answer := Resolution{Outcome: ResolveNotFound, Canonical: s.canonical, Status: statusNotFound}
	if d.State == Alias || d.State == Quarantined {
		answer.Until = d.Until.Time()
	}
	gone := answer
	gone.Outcome, gone.Status = ResolveGone, statusGone
	switch d.State {
	case Active, Alias:
	case Quarantined:
		return gone
	default:
		return answer
	}
	e := v.entity(d.Scope, d.Owner)
	switch {
	case e.Deleted: // its names are about to follow
		return gone
	case e.Archived && s.policy.ArchivedStatus == statusGone:
		return gone
	case e.Archived:
		return answer
	}
	answer.Entity = d.Owner
	if d.State == Active {
		answer.Outcome, answer.Status = ResolveActive, statusOK
		return answer
	}
	id, has := e.Active[d.slot()]
	if !has {
		// The policy may have changed to or from many names since: then there is one
		// name that the alias can mean, or none.
		active := e.activeIn(d.Namespace)
		if len(active) != 1 || d.Terms.Many == s.policy.ManyPerEntity {
			return gone
		}
		id = active[0]
	}
	active := v.nameByID(id, d.Scope)
	if active == nil {
		return gone
	}
	to := v.show(active)
	answer.Outcome, answer.Status, answer.To = ResolveMoved, s.policy.RedirectStatus, &to
	return answer
}

// entityAt is the record of an entity at a moment.
type entityAt struct {
	*EntityRecord
	now Instant
}

// findEntity asks for an entity that has, or had, a name.
func (set *policies) findEntity(scope string, entity Entity) (*job[entityAt], *Error) {
	p := &preparer{policies: set}
	if err := p.prepareEntity(scope, entity); err != nil {
		return nil, err
	}
	return newQuestion(p, func(v *view) (entityAt, *Error) {
		e, err := v.existingEntity(scope, entity)
		return entityAt{e.EntityRecord, v.now}, err
	}), nil
}

// namespacesOf asks which reservations have a row, and in which namespace.
func (set *policies) namespacesOf(ids []ID) *job[map[ID]string] {
	p := &preparer{policies: set}
	for _, id := range ids {
		p.want(Ref{Kind: KindName, ID: id})
	}
	return newQuestion(p, func(v *view) (map[ID]string, *Error) {
		exist := make(map[ID]string)
		for _, id := range ids {
			if n, ok := v.see(Ref{Kind: KindName, ID: id}).(*NameRecord); ok {
				exist[id] = n.Namespace
			}
		}
		return exist, nil
	})
}

// nameAt is a name as it stands at a moment, by its record.
type nameAt struct {
	Name
	ref Ref
	rev uint64
	end Instant // when the last thing ended by itself that no commit has written; zero: nothing
}

// standAt returns a name as it stands at a moment.
func standAt(r *NameRecord, now Instant) nameAt {
	d := draftAt(r, now)
	return nameAt{nameOf(&d.NameRecord, now), r.Ref(), r.Rev, d.lapsedAt()}
}

// pastEnd returns what the answer rests on if it rests on time alone.
func (n *nameAt) pastEnd() (end pastEnd, rests bool) {
	return pastEnd{n.ref, n.rev, n.end}, n.end != 0
}

// stateAt returns the state of a name at a moment.
func stateAt(r *NameRecord, now Instant) State { return draftAt(r, now).State }

// draftAt returns a record as it stands at a moment.
func draftAt(r *NameRecord, now Instant) *draft {
	d := &draft{NameRecord: *r, before: snapshotOf(r)}
	d.lapse(now)
	return d
}

// readNames asks for names by their records' refs; nil stands for a name without a row.
func (set *policies) readNames(refs []Ref) *job[[]*Name] {
	p := &preparer{policies: set}
	p.want(refs...)
	return newQuestion(p, func(v *view) ([]*Name, *Error) {
		names := make([]*Name, len(refs))
		for i, ref := range refs {
			if d := v.nameByID(ref.ID, ref.Scope); d != nil {
				name := v.show(d)
				names[i] = &name
			}
		}
		return names, nil
	})
}

// revision asks for the revision of a name's row, 0 if there is none.
func (set *policies) revision(ref Ref) *job[uint64] {
	p := &preparer{policies: set}
	p.want(ref)
	return newQuestion(p, func(v *view) (uint64, *Error) {
		if d := v.nameByID(ref.ID, ref.Scope); d != nil {
			return d.Rev, nil
		}
		return 0, nil
	})
}

// foundName is a name that was asked for, with what it takes to read its history.
type foundName struct {
	target *subject
	state  *draft
}

// findName asks for a name, which may be free.
func (set *policies) findName(namespace, value string) (*job[foundName], *Error) {
	p := &preparer{policies: set}
	s, err := p.address(namespace, value, "")
	if err != nil {
		return nil, err
	}
	return newQuestion(p, func(v *view) (foundName, *Error) { return foundName{s, v.name(s)}, nil }), nil
}

// row returns the ID and the revision of the name's row.
func (n foundName) row() (ID, uint64) { return n.state.ID, n.state.Rev }

// formerRows returns the rows that had the name before the rules of its namespace changed.
func (n foundName) formerRows() []ID { return n.state.linked(LinkMovedFrom) }

// means reports whether a value is this name, by the present rules.
func (n foundName) means(value string) bool { return n.target.means(value) }

// endedAlone calls fn with what ended by itself and is not in the history yet, newest first,
// until fn returns false: the date, and what was so from then on.
func (n foundName) endedAlone(fn func(at Instant, now Snapshot) bool) {
	for i := len(n.state.lapses) - 1; i >= 0; i-- {
		if l := n.state.lapses[i]; !fn(l.at, l.after) {
			return
		}
	}
}
