package dibs

// plan works out what becomes of the names of a namespace under the rules of its policy. It
// is fed every name that is not free, page by page. It keeps a little for each name that
// changes and for each skeleton.
type plan struct {
	policies *policies

	targets map[ID]sighting // by the row that a name is going to have
	looks   map[ID]sighting // by skeleton: the first of its names
}

func (set *policies) newPlan() *plan {
	return &plan{policies: set, targets: make(map[ID]sighting), looks: make(map[ID]sighting)}
}

// plannedPage is a page of names to plan for.
type plannedPage struct {
	*job[[]*draft] // the rows that names are going to have; nil where there is none yet

	plan    *plan
	names   []*draft
	targets []*subject // by the present rules; nil where a name is not valid
	invalid []*Error
	now     Instant
}

// page prepares a page of names. Its job has to be answered before the findings.
func (pl *plan) page(records []*NameRecord, now Instant) *plannedPage {
	p := &preparer{policies: pl.policies}
	page := &plannedPage{
		plan: pl, now: now,
		names: make([]*draft, len(records)), targets: make([]*subject, len(records)), invalid: make([]*Error, len(records)),
	}
	for i, r := range records {
		page.names[i] = draftAt(r, now)
		if page.targets[i], page.invalid[i] = p.again(page.names[i]); page.invalid[i] == nil {
			p.want(page.targets[i].ref())
		} else {
			page.targets[i] = nil
		}
	}
	page.job = newQuestion(p, func(v *view) ([]*draft, *Error) {
		rows := make([]*draft, len(page.names))
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
type found struct {
	Finding
	with ID
}

// findings returns what becomes of the names of the page. It is called once for each page.
func (page *plannedPage) findings() []found {
	rows, _ := page.result()
	var list []found
	for i, d := range page.names {
		name := nameOf(&d.NameRecord, page.now)
		s := page.targets[i]
		if s == nil {
			// No caller can ask for a quarantined name that is not valid: it needs no place.
			if d.State != Quarantined {
				list = append(list, found{Finding: Finding{Kind: FindingInvalid, Name: name, Why: page.invalid[i].Message}})
			}
			continue
		}
		finding := Finding{Name: name, To: s.canonical}
		list = append(list, page.plan.lookAlikes(d, s, finding)...)
		list = append(list, page.plan.changes(d, rows[i], s, finding)...)
	}
	return list
}

// changes finds out what becomes of one name, whose row is going to be target.
func (pl *plan) changes(d, target *draft, s *subject, f Finding) []found {
	if s.id == d.ID {
		return nil
	}
	there, taken := pl.targets[s.id]
	if !taken && target != nil && target.State != Free {
		there, taken = sightingOf(target), true
	}
	name := sightingOf(d)
	if taken && there.state == Active {
		name.state = Active // of the two together
	}
	pl.targets[s.id] = name
	switch {
	case !taken:
		f.Kind = FindingChange
	case sightingOf(d).mergesWith(there):
		f.Kind = FindingMerge
	default:
		f.Kind = FindingCollision
	}
	return []found{{f, there.id}}
}

func (pl *plan) lookAlikes(d *draft, s *subject, f Finding) (list []found) {
	for _, skeleton := range s.skeletons {
		first, seen := pl.looks[skeleton.ID]
		switch {
		case !seen:
			pl.looks[skeleton.ID] = sightingOf(d)
		case first.entity.IsZero() || d.keepsOut(first.entity):
			f.Kind = FindingLookAlike
			list = append(list, found{f, first.id})
		}
	}
	return list
}

// sighting is a name that was seen, as little of it as will do.
type sighting struct {
	id     ID
	state  State
	entity Entity // whose it is, or may become; zero if unknown
}

func sightingOf(d *draft) sighting {
	if d.alive() {
		return sighting{d.ID, d.State, d.Intended}
	}
	return sighting{d.ID, d.State, d.Owner}
}

// mergesWith reports whether two names that become the same belong to one entity, and at
// most one of them is active.
func (s sighting) mergesWith(other sighting) bool {
	owned := func(s sighting) bool { return s.state == Active || s.state == Alias }
	return owned(s) && owned(other) && s.entity == other.entity && (s.state == Alias || other.state == Alias)
}

// indexedNames decodes the index entry of a keyed hash: the names that it leads to.
func indexedNames(doc *Document) ([]ID, *Error) {
	content, err := decodeDocument[filing](doc)
	if err != nil {
		return nil, Unavailable(err)
	}
	return content.Names, nil
}

// hashPrefix returns what the labels of the index entries under a blind namespace's newest key
// begin with.
func (set *policies) hashPrefix(namespace string) (string, *Error) {
	s, err := set.space(namespace)
	if err != nil {
		return "", err
	}
	return namespace + ":" + s.policy.Blind[0].ID + ".", nil
}
