package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// LookUp asks for one name.
func (set *Policies) LookUp(lookup dibs.Lookup) (*Job[dibs.Name], *dibs.Error) {
	p := set.preparer()
	what := lookup.ID.String()
	find := func(v *view) *nameState { return v.followVisible(lookup.ID, lookup.Sees) }
	if lookup.ID.IsZero() {
		t := p.target(lookup.Namespace, lookup.Value, "")
		what = "of " + t.key()
		find = func(v *view) *nameState { return v.lookUp(t) }
	} else {
		p.want(nameRef("", lookup.ID))
	}
	return newQuestion(p, func(v *view) (dibs.Name, *dibs.Error) {
		none := refuse(dibs.CodeNotFound, "there is no reservation %s", what)
		n := find(v)
		if n == nil {
			return dibs.Name{}, none
		}
		name := n.show(v.now)
		if !lookup.Shows(name) {
			return dibs.Name{}, none // before the entity is read; see followVisible
		}
		if lookup.Version && (n.State == dibs.Active || n.State == dibs.Alias) {
			e := v.owner(n)
			name.Version, name.Archived = e.Rev, e.Archived
		}
		return name, nil
	}), p.refused
}

// ReadNames asks for names by the refs of their rows; nil stands for a name without a row.
func (set *Policies) ReadNames(refs []dibs.Ref) *Job[[]*dibs.Name] {
	return newQuestion(set.preparer(refs...), func(v *view) ([]*dibs.Name, *dibs.Error) {
		names := make([]*dibs.Name, len(refs))
		for i, ref := range refs {
			if n := v.nameByID(ref.ID, ref.Scope); n != nil {
				names[i] = new(n.show(v.now))
			}
		}
		return names, nil
	})
}

// NamespacesOf asks which of these reservations have a row, and in which namespace.
func (set *Policies) NamespacesOf(ids []dibs.ID) *Job[map[dibs.ID]string] {
	p := set.preparer()
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

// Revision asks for the revision of a name's row, 0 if there is none.
func (set *Policies) Revision(ref dibs.Ref) *Job[uint64] {
	return newQuestion(set.preparer(ref), func(v *view) (uint64, *dibs.Error) {
		if n := v.nameByID(ref.ID, ref.Scope); n != nil {
			return n.Rev, nil
		}
		return 0, nil
	})
}

// OtherRows asks for the rows that had the name of a row before the rules of its namespace changed, or have
// it since.
func (set *Policies) OtherRows(ref dibs.Ref) *Job[[]dibs.ID] {
	return newQuestion(set.preparer(ref), func(v *view) ([]dibs.ID, *dibs.Error) {
		if n := v.nameByID(ref.ID, ref.Scope); n != nil {
			return append(n.linked(dibs.LinkMovedFrom), n.linked(dibs.LinkMovedTo)...), nil
		}
		return nil, nil
	})
}

// EntityAsOf is the record of an entity as of a moment.
type EntityAsOf struct {
	*dibs.EntityRecord
	Now dibs.Instant
}

// FindEntity asks for an entity that has, or had, a name.
func (set *Policies) FindEntity(scope string, entity dibs.Entity) (*Job[EntityAsOf], *dibs.Error) {
	p := set.preparer()
	p.prepareEntity(scope, entity)
	return newQuestion(p, func(v *view) (EntityAsOf, *dibs.Error) {
		e, err := v.existingEntity(scope, entity)
		return EntityAsOf{e.EntityRecord, v.now}, err
	}), p.refused
}

// FoundName is the answer of [Policies.FindName]: a name, with what is needed to read its history.
type FoundName struct {
	target *target
	state  *nameState
}

// FindName asks for a name, which may be free.
func (set *Policies) FindName(namespace, value string) (*Job[FoundName], *dibs.Error) {
	p := set.preparer()
	t := p.target(namespace, value, "")
	return newQuestion(p, func(v *view) (FoundName, *dibs.Error) { return FoundName{t, v.name(t)}, nil }), p.refused
}

// Row returns the ID and the revision of the name's row.
func (n FoundName) Row() (dibs.ID, uint64) { return n.state.ID, n.state.Rev }

// FormerRows returns the rows that had the name before the rules of its namespace changed.
func (n FoundName) FormerRows() []dibs.ID { return n.state.linked(dibs.LinkMovedFrom) }

// Means reports whether a value is this name, by the present rules.
func (n FoundName) Means(value string) bool { return n.target.means(value) }

// EndedAlone calls fn with each end that came by itself and is not in the history yet, newest first,
// until fn returns false: the date, and the state from then on.
func (n FoundName) EndedAlone(fn func(at dibs.Instant, now dibs.Snapshot) bool) {
	for _, l := range slices.Backward(n.state.lapses) {
		if !fn(l.at, l.after) {
			return
		}
	}
}

// The HTTP statuses of a [dibs.Resolution]. The rules do not import net/http.
const (
	statusOK       = 200
	statusNotFound = 404
	statusGone     = 410
)

// Resolve asks where a name leads.
func (set *Policies) Resolve(namespace, value string) (*Job[dibs.Resolution], *dibs.Error) {
	p := set.preparer()
	t := p.target(namespace, value, "")
	return newQuestion(p, func(v *view) (dibs.Resolution, *dibs.Error) { return resolve(v, t), nil }), p.refused
}

// resolve follows a name to its entity, and an alias on to the entity's active name: one hop, so
// there are no chains and no loops.
func resolve(v *view, t *target) dibs.Resolution {
	n := v.glance(t)
	answer := dibs.Resolution{Outcome: dibs.ResolveNotFound, Canonical: t.canonical, Status: statusNotFound}
	if n.State == dibs.Alias || n.State == dibs.Quarantined {
		answer.Until = n.Until.Time()
	}
	gone := answer
	gone.Outcome, gone.Status = dibs.ResolveGone, statusGone
	if n.State == dibs.Quarantined {
		return gone
	}
	if n.State != dibs.Active && n.State != dibs.Alias {
		return answer
	}
	e := v.owner(n)
	answer.Archived, gone.Archived = e.Archived, e.Archived
	switch {
	case e.Deleted, // its names are about to be given up
		e.Archived && t.policy.ArchivedStatus == statusGone:
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
		// The policy may have changed to or from ManyPerEntity since: then the alias leads to the
		// only active name, if there is exactly one.
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
	answer.Outcome, answer.Status, answer.To = dibs.ResolveMoved, t.policy.RedirectStatus, new(active.show(v.now))
	return answer
}

const maxChecks = 100

// Check asks whether values could be reserved. It applies the same rule as Reserve, so the two
// cannot disagree on what "taken" means.
func (set *Policies) Check(req dibs.CheckRequest) (*Job[[]dibs.Availability], *dibs.Error) {
	if err := cmp.Or(
		checkAtMost(len(req.Values), maxChecks, "values in one check"),
		checkAtMost(len(req.Parts), maxParts, "parts for suggestions"),
		checkOptionalEntity(req.Entity),
	); err != nil {
		return nil, err
	}
	p := set.preparer()
	targets := make([]*target, len(req.Values))
	for i, value := range req.Values {
		targets[i] = p.newTarget(req.Namespace, value, "", false)
		if err := p.takeRefusal(); err != nil && !isAboutValue(err) {
			return nil, err
		}
	}
	return newQuestion(p, func(v *view) ([]dibs.Availability, *dibs.Error) {
		answers := make([]dibs.Availability, len(targets))
		for i, t := range targets {
			refused := t.invalid
			if refused == nil {
				if err := v.readNamespaceRecord(t.namespace).checkRules(t); err != nil {
					return nil, err
				}
				refused = v.checkAvailable(t, v.name(t), req.Entity)
			}
			answers[i] = dibs.Availability{Value: req.Values[i], Canonical: t.canonical, Available: true}
			if refused != nil {
				answers[i] = unavailable(req.Values[i], refused)
			}
		}
		return answers, nil
	}), nil
}

// isAboutValue reports whether an error is about one value, and not about the whole request.
func isAboutValue(err *dibs.Error) bool {
	return err.Code == dibs.CodeInvalidValue || err.Code == dibs.CodeReservedWord
}

func unavailable(value string, err *dibs.Error) dibs.Availability {
	a := dibs.Availability{Value: value, Reason: err.Reason, Detail: err.Message, Until: err.Until, Refusal: err.Refusal}
	if err.Code == dibs.CodeInvalidValue {
		a.Reason = dibs.ReasonInvalid
	}
	if err.Code == dibs.CodeReservedWord {
		a.Reason = dibs.ReasonReservedWord
	}
	_, a.Canonical, _ = strings.Cut(err.Key, ":")
	return a
}
