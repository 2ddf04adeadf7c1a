package dibs

import (
	"context"
	"errors"
)

// find notes a finding.
func (r *recanonicalizer) find(f Finding) {
	r.report.Counts[f.Kind]++
	if r.report.Counts[f.Kind] <= maxFindings {
		r.report.Findings = append(r.report.Findings, f)
	}
}

// plan looks at every name. What it keeps in memory is a little for each name that
// changes, and for each skeleton.
func (r *recanonicalizer) plan(ctx context.Context) error {
	r.targets, r.looks = make(map[ID]sighting), make(map[ID]sighting)
	return r.eachPage(ctx, taken, func(page []*draft, now Instant) error {
		p := r.preparer()
		subjects, targets := make([]*subject, len(page)), make([]*draft, len(page))
		for i, d := range page {
			r.report.Looked++
			s, err := p.again(d)
			if err != nil {
				// Nobody can ask for it any more: nothing to keep back.
				if d.State != Quarantined {
					r.find(Finding{Kind: FindingInvalid, Name: nameOf(&d.NameRecord, now), Why: err.Message})
				}
				continue
			}
			subjects[i] = s
			p.want(s.ref())
		}
		err := r.read(ctx, p, func(v *view) {
			for i, s := range subjects {
				if s != nil && s.id != page[i].ID {
					targets[i] = v.nameByID(s.id, s.scope)
				}
			}
		})
		if err != nil {
			return err
		}
		for i, s := range subjects {
			if s == nil {
				continue
			}
			finding := Finding{Name: nameOf(&page[i].NameRecord, now), To: s.canonical}
			if err := r.compareLooks(ctx, page[i], s, finding); err != nil {
				return err
			}
			if err := r.compare(ctx, page[i], targets[i], s, finding); err != nil {
				return err
			}
		}
		return nil
	})
}

// sighting is a name that was seen, as little of it as will do.
type sighting struct {
	id     ID
	state  State
	entity Entity // whose it is, or may become; zero where nobody knows
}

func sightingOf(d *draft) sighting {
	if d.alive() {
		return sighting{d.ID, d.State, d.Intended}
	}
	return sighting{d.ID, d.State, d.Owner}
}

// mergesWith reports whether two names that become the same are one entity's, and at
// most one of them is active.
func (s sighting) mergesWith(other sighting) bool {
	owned := func(s sighting) bool { return s.state == Active || s.state == Alias }
	return owned(s) && owned(other) && s.entity == other.entity && (s.state == Alias || other.state == Alias)
}

// compare finds out what becomes of one name, whose row is going to be target.
func (r *recanonicalizer) compare(ctx context.Context, d, target *draft, s *subject, f Finding) error {
	if s.id == d.ID {
		return nil
	}
	there, taken := r.targets[s.id]
	if !taken && target != nil && target.State != Free {
		there, taken = sightingOf(target), true
	}
	name := sightingOf(d)
	if taken && there.state == Active {
		name.state = Active // of the two together
	}
	r.targets[s.id] = name
	switch {
	case !taken:
		f.Kind = FindingChange
		r.find(f)
		return nil
	case sightingOf(d).mergesWith(there):
		f.Kind = FindingMerge
	default:
		f.Kind = FindingCollision
	}
	return r.findWith(ctx, f, there.id)
}

func (r *recanonicalizer) compareLooks(ctx context.Context, d *draft, s *subject, f Finding) error {
	for _, skeleton := range s.skeletons {
		first, seen := r.looks[skeleton.ID]
		switch {
		case !seen:
			r.looks[skeleton.ID] = sightingOf(d)
		case first.entity.IsZero() || d.keepsOut(first.entity):
			f.Kind = FindingLookAlike
			if err := r.findWith(ctx, f, first.id); err != nil {
				return err
			}
		}
	}
	return nil
}

// findWith notes a finding about two names.
func (r *recanonicalizer) findWith(ctx context.Context, f Finding, id ID) error {
	if r.report.Counts[f.Kind] < maxFindings {
		with, err := r.Get(ctx, Lookup{ID: id})
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		f.With = &with
	}
	r.find(f)
	return nil
}

// findUnfiled finds names of a blind namespace that are not filed under its newest key.
func (r *recanonicalizer) findUnfiled(ctx context.Context) error {
	filed := make(map[ID]bool)
	prefix := r.request.Namespace + ":" + r.space.policy.Blind[0].ID + "."
	query := ListQuery{Kind: KindHash, From: prefix, To: afterPrefix(prefix), Limit: recanonicalizePage}
	for {
		records, err := r.store.List(ctx, query)
		if err != nil {
			return err
		}
		for _, record := range records {
			doc := record.(*Document)
			content, err := decodeDocument[filing](doc)
			if err != nil {
				return Unavailable(err)
			}
			for _, id := range content.Names {
				filed[id] = true
			}
			query.After = &ListPosition{Label: doc.Label}
		}
		if len(records) < query.Limit {
			break
		}
	}
	err := r.eachPage(ctx, taken, func(page []*draft, now Instant) error {
		for _, d := range page {
			r.report.Looked++
			if !filed[d.ID] {
				r.find(Finding{Kind: FindingUnfiled, Name: nameOf(&d.NameRecord, now)})
			}
		}
		return nil
	})
	if err != nil || r.request.DryRun {
		return err
	}
	return r.raiseOver(ctx, filed)
}

// raiseOver lifts the floor over the names that nobody has any more and nobody will find
// by the newest key: should they come again as new ones, their epochs do not start over.
func (r *recanonicalizer) raiseOver(ctx context.Context, filed map[ID]bool) error {
	var epoch, rev uint64
	err := r.eachPage(ctx, []State{Free, Held, Alias, Quarantined}, func(page []*draft, _ Instant) error {
		for _, d := range page {
			if d.State == Free && !filed[d.ID] {
				epoch, rev = max(epoch, d.Epoch), max(rev, d.Rev)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	p := r.preparer()
	p.want(floorRef(r.space))
	_, refused := r.own(ctx, p, func(v *view) (Result, *Error) {
		f, at, err := readFloor(v, r.space)
		if err == nil && at != 0 {
			v.raiseFloor(r.space, f, at, epoch, rev)
		}
		return Result{}, err
	})
	if refused != nil {
		return refused
	}
	return nil
}
