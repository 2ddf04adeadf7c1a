package rules

import (
	"slices"

	"github.com/calldibs/dibs"
)

// RecanonicalizeName applies the present rules of a namespace's policy to one name, as part of a
// run. The outcome says whether that changed anything.
func (set *Policies) RecanonicalizeName(ref dibs.Ref, run string) *Job[bool] {
	p := set.preparer(ref)
	return newJob(p, func(v *view) (changed bool, _ *dibs.Error) {
		from := v.nameByID(ref.ID, ref.Scope)
		if from == nil || from.State == dibs.Free {
			return false, nil
		}
		t := p.retarget(from.Namespace, from.Value)
		if t.invalid != nil && from.State == dibs.Quarantined {
			return false, nil // no caller can ask for it: it ends in its present row
		}
		if t.invalid != nil {
			return false, t.invalid
		}
		if err := v.readNamespaceRecord(t.namespace).checkRun(t.namespace, run); err != nil {
			return false, err
		}
		if t.id == from.ID {
			return v.restamp(from, t), nil
		}
		to := v.nameByID(t.id, t.scope) // not followed, if a name was moved from it
		if to == nil {
			to = t.newState()
		}
		if to.State != dibs.Free {
			return true, v.merge(from, to, t)
		}
		v.move(from, to, t)
		return true, nil
	})
}

// retarget works out what name a value is by the present rules. It may be a reserved word.
func (p *preparer) retarget(namespace, value string) *target {
	t, canonical := p.locate(namespace, value, "")
	if t.invalid == nil {
		t.invalid = t.setSkeletons(canonical)
	}
	return t
}

// restamp records on a name that stays in its row that it follows the present rules, and reports
// whether it did not. Look-alikes that other entities already have stay.
func (v *view) restamp(n *nameState, t *target) bool {
	links := n.Links
	highest := v.removeFromIndex(n, t.skeletons...)
	if n.Profile == t.policy.profileName && v.isIndexed(n, t) && slices.Equal(links, n.Links) {
		return false
	}
	v.addToIndex(n, t, v.raiseRecord(t.namespace, 0, highest))
	n.Profile = t.policy.profileName
	v.saveQuietly(n)
	return true
}

// move takes a name to the row to, which is free. The name stays as it is, epoch included, unless
// that row has had a later one.
func (v *view) move(from, to *nameState, t *target) {
	v.openRow(to, t, v.readNamespaceRecord(t.namespace))
	moved := from.NameRecord
	v.uncountHold(from)
	moved.ID, moved.Rev, moved.Canonical, moved.Profile = to.ID, to.Rev, t.canonical, t.policy.profileName
	moved.Epoch = max(from.Epoch, to.Epoch+1)
	moved.Established = from.Established || to.Established
	moved.Links = to.origins(from)
	moved.Spent = v.stillSpent(to.Spent, to.lastToken(to.EndedAt), withoutEpochs(from.Spent))
	if from.State == dibs.Active || from.State == dibs.Alias {
		e := v.entity(from.Scope, from.Owner)
		if e.Active[from.slot()] == from.ID {
			e.Active[from.slot()] = to.ID
		}
		v.saveEntity(e)
	}
	record := v.raiseRecord(t.namespace, 0, max(v.removeFromIndex(to), v.vacate(from, to)))
	to.NameRecord = moved
	v.addToIndex(to, t, record)
	v.countHold(to)
	v.save(to, dibs.EventMoved)
}

// merge ends a name that is the same as another one of its entity by the present rules. If it was
// the active one, the other becomes active.
func (v *view) merge(from, to *nameState, t *target) *dibs.Error {
	if !plannedNameOf(from).mergesWith(plannedNameOf(to)) {
		return t.refuseTaken(to, dibs.Entity{})
	}
	e := v.entity(from.Scope, from.Owner)
	kind := dibs.EventMoved
	if from.State == dibs.Active {
		to.State, to.Until, to.Line, to.Terms.Many = dibs.Active, 0, from.Line, from.Terms.Many
		e.Active[to.slot()] = to.ID // the slot of from
		kind = dibs.EventRevived
	} else if to.Until != 0 && (from.Until == 0 || from.Until > to.Until) {
		to.Until = from.Until // it redirects until the later of the two dates
	}
	to.Epoch = max(to.Epoch, from.Epoch)
	v.saveEntity(e)
	to.Spent = v.stillSpent(to.Spent, withoutEpochs(from.Spent), withoutEpochs(from.lastToken(v.now)))
	to.Links = append(slices.DeleteFunc(slices.Clone(to.Links), func(l dibs.Link) bool { return l.Kind == dibs.LinkMovedFrom }), to.origins(from)...)
	record := v.raiseRecord(t.namespace, 0, max(v.removeFromIndex(to, t.skeletons...), v.vacate(from, to)))
	to.Profile = t.policy.profileName
	v.addToIndex(to, t, record)
	v.save(to, kind)
	return nil
}

// origins returns the links to the former rows of a name that moves from one row to another.
func (to *nameState) origins(from *nameState) []dibs.Link {
	links := []dibs.Link{{Kind: dibs.LinkMovedFrom, ID: from.ID}}
	for _, l := range slices.Concat(to.Links, from.Links) {
		if l.Kind == dibs.LinkMovedFrom && l.ID != to.ID && !slices.Contains(links, l) {
			links = append(links, l)
		}
	}
	return links
}

// vacate ends the row from, whose name was moved to to: it removes from from its index entries and
// links it to to. It returns the highest revision of a deleted entry.
func (v *view) vacate(from, to *nameState) (highest uint64) {
	highest = v.removeFromIndex(from)
	from.State, from.Status, from.EndedAt, from.Until = dibs.Free, dibs.StatusReleased, v.now, 0
	from.Token, from.Spent, from.AskAt, from.Doubt = dibs.TokenHash{}, nil, 0, ""
	from.Links = []dibs.Link{{Kind: dibs.LinkMovedTo, ID: to.ID}}
	from.Established = true // never purged: the history of the other row begins here
	v.save(from, dibs.EventMoved)
	return highest
}

// Plan works out what becomes of the names of a namespace under the rules of its policy. It is
// given every name that is not free, page by page. It keeps a little for each name that changes and
// for each skeleton. It is not safe for concurrent use.
type Plan struct {
	policies *Policies

	byTarget   map[dibs.ID]plannedName // names that change, by their new row
	bySkeleton map[dibs.ID]plannedName // the first name of each skeleton
}

// NewPlan returns an empty plan.
func (set *Policies) NewPlan() *Plan {
	return &Plan{policies: set, byTarget: make(map[dibs.ID]plannedName), bySkeleton: make(map[dibs.ID]plannedName)}
}

// PlanPage is a page of names to plan for.
type PlanPage struct {
	*Job[[]*nameState] // the rows that names move to; nil where there is none yet

	plan  *Plan
	names []nameToPlan
	now   dibs.Instant
}

// nameToPlan is a name, and what it is by the present rules.
type nameToPlan struct {
	*nameState
	target *target
}

// Page prepares a page of names. Its job has to be answered before the findings.
func (pl *Plan) Page(records []*dibs.NameRecord, now dibs.Instant) *PlanPage {
	p := pl.policies.preparer()
	page := &PlanPage{plan: pl, now: now, names: make([]nameToPlan, len(records))}
	for i, r := range records {
		page.names[i] = nameToPlan{stateOf(r, now), p.retarget(r.Namespace, r.Value)}
		if t := page.names[i].target; t.invalid == nil {
			p.want(t.ref())
		}
	}
	page.Job = newQuestion(p, func(v *view) ([]*nameState, *dibs.Error) {
		rows := make([]*nameState, len(page.names))
		for i, n := range page.names {
			if n.target.invalid == nil {
				rows[i] = v.nameByID(n.target.id, n.target.scope)
			}
		}
		return rows, nil
	})
	return page
}

// PlanFinding is a finding, and the other name that it is about if there is one.
type PlanFinding struct {
	dibs.Finding
	Other dibs.ID
}

// Findings returns what becomes of the names of the page. It is called once for each page.
func (page *PlanPage) Findings() []PlanFinding {
	rows, _ := page.Result()
	var list []PlanFinding
	for i, n := range page.names {
		finding := dibs.Finding{Name: n.show(page.now), To: n.target.canonical}
		switch {
		case n.target.invalid == nil:
			list = append(list, page.plan.lookAlikes(n, finding)...)
			list = append(list, page.plan.changes(n, rows[i], finding)...)
		case n.State != dibs.Quarantined: // else no caller can ask for it: it can stay as it is
			finding.Kind, finding.To, finding.Why = dibs.FindingInvalid, "", n.target.invalid.Message
			list = append(list, PlanFinding{Finding: finding})
		}
	}
	return list
}

// changes finds out what becomes of one name. Row is the row that it would move to, or nil.
func (pl *Plan) changes(n nameToPlan, row *nameState, f dibs.Finding) []PlanFinding {
	if n.target.id == n.ID {
		return nil
	}
	there, taken := pl.byTarget[n.target.id]
	if !taken && row != nil && row.State != dibs.Free {
		there, taken = plannedNameOf(row), true
	}
	name := plannedNameOf(n.nameState)
	if taken && there.state == dibs.Active {
		name.state = dibs.Active // the merged name is active
	}
	pl.byTarget[n.target.id] = name
	switch {
	case !taken:
		f.Kind = dibs.FindingChange
	case plannedNameOf(n.nameState).mergesWith(there):
		f.Kind = dibs.FindingMerge
	default:
		f.Kind = dibs.FindingCollision
	}
	return []PlanFinding{{f, there.id}}
}

// lookAlikes finds names that look like another entity's.
func (pl *Plan) lookAlikes(n nameToPlan, f dibs.Finding) (list []PlanFinding) {
	for _, skeleton := range n.target.skeletons {
		first, seen := pl.bySkeleton[skeleton.ID]
		switch {
		case !seen:
			pl.bySkeleton[skeleton.ID] = plannedNameOf(n.nameState)
		case first.entity.IsZero() || n.keepsOut(first.entity):
			f.Kind = dibs.FindingLookAlike
			list = append(list, PlanFinding{f, first.id})
		}
	}
	return list
}

// plannedName is what a plan keeps of a name.
type plannedName struct {
	id     dibs.ID
	state  dibs.State
	entity dibs.Entity // the owner, or the entity it is held for; zero if unknown
}

func plannedNameOf(n *nameState) plannedName { return plannedName{n.ID, n.State, n.entity()} }

// mergesWith reports whether two names that become the same belong to one entity, and at most one
// of them is active.
func (n plannedName) mergesWith(other plannedName) bool {
	owned := func(n plannedName) bool { return n.state == dibs.Active || n.state == dibs.Alias }
	return owned(n) && owned(other) && n.entity == other.entity && (n.state == dibs.Alias || other.state == dibs.Alias)
}

func (p *preparer) rekey(c dibs.Rekey) decision {
	t := p.retarget(c.Namespace, c.Value)
	p.check(t.invalid)
	if !t.policy.blind() {
		p.check(t.refuse(dibs.CodeInvalidNamespace, "%s has no keys: Rekey works in blind namespaces only", t.namespace))
	}
	for _, key := range slices.Concat(t.hashes, t.skeletons) {
		p.want(key.Ref)
	}
	return func(v *view) (dibs.Result, *dibs.Error) {
		if v.hasNoRow(t) {
			return dibs.Result{}, t.refuse(dibs.CodeNotFound, "%s is free", t.key())
		}
		n := v.name(t)
		if v.isIndexed(n, t) {
			return v.result(true, n), nil
		}
		record, err := v.recordForNewName(t)
		if err != nil {
			return dibs.Result{}, err
		}
		v.addToIndex(n, t, record)
		v.saveQuietly(n)
		return v.result(false, n), nil
	}
}
