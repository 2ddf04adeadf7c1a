package rules

import (
	"slices"

	"github.com/calldibs/dibs"
)

// bringUnder brings one name under the rules that its namespace's policy has now, as part of
// a run. The outcome says whether that changed anything.
func (set *Policies) BringUnder(ref dibs.Ref, run string) *Job[bool] {
	p := &preparer{policies: set}
	p.want(ref)
	return newJob(p, func(v *view) (changed bool, _ *dibs.Error) {
		d := v.nameByID(ref.ID, ref.Scope)
		if d == nil || d.State == dibs.Free {
			return false, nil
		}
		s, err := p.again(d)
		if err != nil && d.State == dibs.Quarantined {
			return false, nil // no caller can ask for it any more: it ends where it is
		}
		if err != nil {
			return false, err
		}
		f, rev, err := readNamespaceRecord(v, s.namespaceInfo)
		if err != nil {
			return false, err
		}
		if err := f.mayGoOn(s.namespace, run); err != nil {
			return false, err
		}
		if s.id == d.ID {
			return v.restamp(d, s, f, rev), nil
		}
		t := v.nameByID(s.id, s.scope) // itself, also if it was once moved from
		if t == nil {
			t = s.newState()
		}
		if t.State != dibs.Free {
			return true, v.merge(d, t, s, f, rev)
		}
		v.move(d, t, s, f, rev)
		return true, nil
	})
}

// again works out what the name of a row is by the present rules.
func (p *preparer) again(d *nameState) (*target, *dibs.Error) {
	s, canonical, err := p.locate(d.Namespace, d.Value, "")
	if err == nil {
		err = s.compare(canonical)
	}
	return s, err
}

// restamp notes on a name that stays where it is that it is under the present rules,
// and reports whether it was not. Look-alikes that others have already stay.
func (v *view) restamp(d *nameState, s *target, f NamespaceRecord, rev uint64) bool {
	links := d.Links
	highest := v.removeFromIndex(d, s.skeletons...)
	if d.Profile == s.policy.profileName && v.isIndexed(d, s) && slices.Equal(links, d.Links) {
		return false
	}
	v.addToIndex(d, s, v.raiseNamespaceRecord(s.namespaceInfo, f, rev, 0, highest))
	d.Profile = s.policy.profileName
	v.keep(d)
	return true
}

// move takes a name to the row t, which nobody has. What is in the row stays as it is,
// epoch and all, unless t has seen a later one.
func (v *view) move(d, t *nameState, s *target, f NamespaceRecord, rev uint64) {
	if t.forgotten() { // what identified the row is not what it is from now on
		t.remember(s)
		v.retell(t, t.EndedAt, t.before)
	}
	v.saveLapses(t)
	if !t.exists() {
		t.Rev, t.Epoch = f.Rev, f.Epoch
	}
	counted := d.Terms.Counted
	v.uncountHold(d)
	moved := d.NameRecord
	moved.ID, moved.Rev, moved.Canonical, moved.Profile = t.ID, t.Rev, s.canonical, s.policy.profileName
	moved.Epoch = max(d.Epoch, t.Epoch+1)
	moved.Terms.Counted = counted
	moved.Established = d.Established || t.Established
	moved.Links = t.origins(d)
	moved.Spent = v.stillSpent(t.Spent, t.lastToken(t.EndedAt), elsewhere(d.Spent))
	f = v.raiseNamespaceRecord(s.namespaceInfo, f, rev, 0, max(v.removeFromIndex(t), v.leaveFor(d, t)))
	if d.State == dibs.Active || d.State == dibs.Alias {
		e := v.entity(d.Scope, d.Owner)
		if e.Active[d.slot()] == d.ID {
			e.Active[d.slot()] = t.ID
		}
		v.saveEntity(e)
	}
	v.vacate(d)
	t.NameRecord = moved
	v.addToIndex(t, s, f)
	v.countHold(t)
	v.save(t, dibs.EventMoved)
}

// merge ends a name that is the same as another one of its entity by the present
// rules. If it was the active one, the other takes its place.
func (v *view) merge(d, t *nameState, s *target, f NamespaceRecord, rev uint64) *dibs.Error {
	if !sightingOf(d).mergesWith(sightingOf(t)) {
		return s.taken(t, dibs.Entity{})
	}
	e := v.entity(d.Scope, d.Owner)
	kind := dibs.EventMoved
	if d.State == dibs.Active {
		delete(e.Active, d.slot())
		t.State, t.Until, t.Line, t.Terms.Many = dibs.Active, 0, d.Line, d.Terms.Many
		e.Active[t.slot()] = t.ID
		kind = dibs.EventRevived
	} else if t.Until != 0 && (d.Until == 0 || d.Until > t.Until) {
		t.Until = d.Until // it redirects for as long as either of them
	}
	t.Epoch = max(t.Epoch, d.Epoch)
	v.saveEntity(e)
	t.Spent = v.stillSpent(t.Spent, elsewhere(d.Spent), elsewhere(d.lastToken(v.now)))
	t.Links = append(slices.DeleteFunc(slices.Clone(t.Links), func(l dibs.Link) bool { return l.Kind == dibs.LinkMovedFrom }), t.origins(d)...)
	f = v.raiseNamespaceRecord(s.namespaceInfo, f, rev, 0, max(v.removeFromIndex(t, s.skeletons...), v.leaveFor(d, t)))
	v.vacate(d)
	t.Profile = s.policy.profileName
	v.addToIndex(t, s, f)
	v.save(t, kind)
	return nil
}

// origins returns the links to where the name of d was before it is in t.
func (t *nameState) origins(d *nameState) []dibs.Link {
	links := []dibs.Link{{Kind: dibs.LinkMovedFrom, ID: d.ID}}
	for _, l := range slices.Concat(t.Links, d.Links) {
		if l.Kind == dibs.LinkMovedFrom && l.ID != t.ID && !slices.Contains(links, l) {
			links = append(links, l)
		}
	}
	return links
}

// leaveFor takes d out of its folders and leaves a link to t. It returns the highest
// revision of a folder that is gone.
func (v *view) leaveFor(d, t *nameState) (highest uint64) {
	highest = v.removeFromIndex(d)
	d.Links = []dibs.Link{{Kind: dibs.LinkMovedTo, ID: t.ID}}
	return highest
}

// vacate ends a row whose name is in another one.
func (v *view) vacate(d *nameState) {
	d.State, d.Status, d.EndedAt, d.Until = dibs.Free, dibs.StatusReleased, v.now, 0
	d.Token, d.Spent, d.AskAt, d.Doubt = dibs.TokenHash{}, nil, 0, ""
	d.Established = true // it is never purged: the other row's history begins here
	v.save(d, dibs.EventMoved)
}
