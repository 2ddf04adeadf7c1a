package rules

import "github.com/calldibs/dibs"

// plan works out what becomes of the names of a namespace under the rules of its policy. It
// is fed every name that is not free, page by page. It keeps a little for each name that
// changes and for each skeleton.
type Plan struct {
	policies *Policies

	targets map[dibs.ID]sighting // by the row that a name is going to have
	looks   map[dibs.ID]sighting // by skeleton: the first of its names
}

func (set *Policies) NewPlan() *Plan {
	return &Plan{policies: set, targets: make(map[dibs.ID]sighting), looks: make(map[dibs.ID]sighting)}
}

// plannedPage is a page of names to plan for.
type PlanPage struct {
	*Job[[]*nameState] // the rows that names are going to have; nil where there is none yet

	plan    *Plan
	names   []*nameState
	targets []*target // by the present rules; nil where a name is not valid
	invalid []*dibs.Error
	now     dibs.Instant
}

// page prepares a page of names. Its job has to be answered before the findings.
func (pl *Plan) Page(records []*dibs.NameRecord, now dibs.Instant) *PlanPage {
	p := &preparer{policies: pl.policies}
	page := &PlanPage{
		plan: pl, now: now,
		names: make([]*nameState, len(records)), targets: make([]*target, len(records)), invalid: make([]*dibs.Error, len(records)),
	}
	for i, r := range records {
		page.names[i] = stateOf(r, now)
		if page.targets[i], page.invalid[i] = p.again(page.names[i]); page.invalid[i] == nil {
			p.want(page.targets[i].ref())
		} else {
			page.targets[i] = nil
		}
	}
	page.Job = newQuestion(p, func(v *view) ([]*nameState, *dibs.Error) {
		rows := make([]*nameState, len(page.names))
		for i, s := range page.targets {
			if s != nil && s.id != page.names[i].ID {
				rows[i] = v.nameByID(s.id, s.scope)
			}
		}
		return rows, nil
	})
	return page
}

// found is a finding, and the other name that it is about if there is one.
type PlanFinding struct {
	dibs.Finding
	Other dibs.ID
}

// findings returns what becomes of the names of the page. It is called once for each page.
func (page *PlanPage) Findings() []PlanFinding {
	rows, _ := page.Result()
	var list []PlanFinding
	for i, d := range page.names {
		name := nameOf(&d.NameRecord, page.now)
		s := page.targets[i]
		if s == nil {
			// No caller can ask for a quarantined name that is not valid: it needs no place.
			if d.State != dibs.Quarantined {
				list = append(list, PlanFinding{Finding: dibs.Finding{Kind: dibs.FindingInvalid, Name: name, Why: page.invalid[i].Message}})
			}
			continue
		}
		finding := dibs.Finding{Name: name, To: s.canonical}
		list = append(list, page.plan.lookAlikes(d, s, finding)...)
		list = append(list, page.plan.changes(d, rows[i], s, finding)...)
	}
	return list
}

// changes finds out what becomes of one name, whose row is going to be target.
func (pl *Plan) changes(d, target *nameState, s *target, f dibs.Finding) []PlanFinding {
	if s.id == d.ID {
		return nil
	}
	there, taken := pl.targets[s.id]
	if !taken && target != nil && target.State != dibs.Free {
		there, taken = sightingOf(target), true
	}
	name := sightingOf(d)
	if taken && there.state == dibs.Active {
		name.state = dibs.Active // of the two together
	}
	pl.targets[s.id] = name
	switch {
	case !taken:
		f.Kind = dibs.FindingChange
	case sightingOf(d).mergesWith(there):
		f.Kind = dibs.FindingMerge
	default:
		f.Kind = dibs.FindingCollision
	}
	return []PlanFinding{{f, there.id}}
}

func (pl *Plan) lookAlikes(d *nameState, s *target, f dibs.Finding) (list []PlanFinding) {
	for _, skeleton := range s.skeletons {
		first, seen := pl.looks[skeleton.ID]
		switch {
		case !seen:
			pl.looks[skeleton.ID] = sightingOf(d)
		case first.entity.IsZero() || d.keepsOut(first.entity):
			f.Kind = dibs.FindingLookAlike
			list = append(list, PlanFinding{f, first.id})
		}
	}
	return list
}

// sighting is a name that was seen, as little of it as will do.
type sighting struct {
	id     dibs.ID
	state  dibs.State
	entity dibs.Entity // whose it is, or may become; zero if unknown
}

func sightingOf(d *nameState) sighting {
	if d.alive() {
		return sighting{d.ID, d.State, d.Intended}
	}
	return sighting{d.ID, d.State, d.Owner}
}

// mergesWith reports whether two names that become the same belong to one entity, and at
// most one of them is active.
func (s sighting) mergesWith(other sighting) bool {
	owned := func(s sighting) bool { return s.state == dibs.Active || s.state == dibs.Alias }
	return owned(s) && owned(other) && s.entity == other.entity && (s.state == dibs.Alias || other.state == dibs.Alias)
}

// indexedNames decodes the index entry of a keyed hash: the names that it leads to.
func IndexedNames(doc *dibs.Document) ([]dibs.ID, *dibs.Error) {
	content, err := decodeDocument[indexEntry](doc)
	if err != nil {
		return nil, dibs.Unavailable(err)
	}
	return content.Names, nil
}

// hashPrefix returns what the labels of the index entries under a blind namespace's newest key
// begin with.
func (set *Policies) HashPrefix(namespace string) (string, *dibs.Error) {
	s, err := set.namespace(namespace)
	if err != nil {
		return "", err
	}
	return namespace + ":" + s.policy.Blind[0].ID + ".", nil
}
