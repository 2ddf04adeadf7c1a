package rules

import "github.com/calldibs/dibs"

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

	plan    *Plan
	names   []*nameState
	targets []*target // by the present rules; nil where the name is not valid
	invalid []*dibs.Error
	now     dibs.Instant
}

// Page prepares a page of names. Its job has to be answered before the findings.
func (pl *Plan) Page(records []*dibs.NameRecord, now dibs.Instant) *PlanPage {
	p := &preparer{policies: pl.policies}
	page := &PlanPage{
		plan: pl, now: now,
		names: make([]*nameState, len(records)), targets: make([]*target, len(records)), invalid: make([]*dibs.Error, len(records)),
	}
	for i, r := range records {
		page.names[i] = stateOf(r, now)
		if page.targets[i], page.invalid[i] = p.retarget(page.names[i]); page.invalid[i] == nil {
			p.want(page.targets[i].ref())
		} else {
			page.targets[i] = nil
		}
	}
	page.Job = newQuestion(p, func(v *view) ([]*nameState, *dibs.Error) {
		rows := make([]*nameState, len(page.names))
		for i, t := range page.targets {
			if t != nil && t.id != page.names[i].ID {
				rows[i] = v.nameByID(t.id, t.scope)
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
		name := n.show(page.now)
		t := page.targets[i]
		if t == nil {
			// No caller can ask for a quarantined name that is not valid: it can stay as it is.
			if n.State != dibs.Quarantined {
				list = append(list, PlanFinding{Finding: dibs.Finding{Kind: dibs.FindingInvalid, Name: name, Why: page.invalid[i].Message}})
			}
			continue
		}
		finding := dibs.Finding{Name: name, To: t.canonical}
		list = append(list, page.plan.lookAlikes(n, t, finding)...)
		list = append(list, page.plan.changes(n, rows[i], t, finding)...)
	}
	return list
}

// changes finds out what becomes of one name. Row is the row that it would move to, or nil.
func (pl *Plan) changes(n, row *nameState, t *target, f dibs.Finding) []PlanFinding {
	if t.id == n.ID {
		return nil
	}
	there, taken := pl.byTarget[t.id]
	if !taken && row != nil && row.State != dibs.Free {
		there, taken = plannedNameOf(row), true
	}
	name := plannedNameOf(n)
	if taken && there.state == dibs.Active {
		name.state = dibs.Active // the merged name is active
	}
	pl.byTarget[t.id] = name
	switch {
	case !taken:
		f.Kind = dibs.FindingChange
	case plannedNameOf(n).mergesWith(there):
		f.Kind = dibs.FindingMerge
	default:
		f.Kind = dibs.FindingCollision
	}
	return []PlanFinding{{f, there.id}}
}

// lookAlikes finds names that look like another entity's.
func (pl *Plan) lookAlikes(n *nameState, t *target, f dibs.Finding) (list []PlanFinding) {
	for _, skeleton := range t.skeletons {
		first, seen := pl.bySkeleton[skeleton.ID]
		switch {
		case !seen:
			pl.bySkeleton[skeleton.ID] = plannedNameOf(n)
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

func plannedNameOf(n *nameState) plannedName {
	if n.held() {
		return plannedName{n.ID, n.State, n.Intended}
	}
	return plannedName{n.ID, n.State, n.Owner}
}

// mergesWith reports whether two names that become the same belong to one entity, and at most one
// of them is active.
func (n plannedName) mergesWith(other plannedName) bool {
	owned := func(n plannedName) bool { return n.state == dibs.Active || n.state == dibs.Alias }
	return owned(n) && owned(other) && n.entity == other.entity && (n.state == dibs.Alias || other.state == dibs.Alias)
}
