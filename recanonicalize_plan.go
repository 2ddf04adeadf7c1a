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

// plan looks at every name.
func (r *recanonicalizer) plan(ctx context.Context) error {
	plan := r.policies.newPlan()
	return r.eachPage(ctx, taken, func(records []*NameRecord, now Instant) error {
		r.report.Looked += len(records)
		page := plan.page(records, now)
		if _, err := askAlone(ctx, r.core, page.job); err != nil {
			return err
		}
		for _, f := range page.findings() {
			if !f.with.IsZero() && r.report.Counts[f.Kind] < maxFindings {
				with, err := r.Get(ctx, Lookup{ID: f.with})
				if err != nil && !errors.Is(err, ErrNotFound) {
					return err
				}
				f.With = &with
			}
			r.find(f.Finding)
		}
		return nil
	})
}

// findUnfiled finds names of a blind namespace that are not filed under its newest key.
func (r *recanonicalizer) findUnfiled(ctx context.Context) error {
	filed := make(map[ID]bool)
	prefix, invalid := r.policies.hashPrefix(r.request.Namespace)
	if invalid != nil {
		return invalid
	}
	query := ListQuery{Kind: KindHash, From: prefix, To: afterPrefix(prefix), Limit: recanonicalizePage}
	for {
		records, err := r.store.List(ctx, query)
		if err != nil {
			return err
		}
		for _, record := range records {
			doc := record.(*Document)
			names, err := indexedNames(doc)
			if err != nil {
				return err
			}
			for _, id := range names {
				filed[id] = true
			}
			query.After = &ListPosition{Label: doc.Label}
		}
		if len(records) < query.Limit {
			break
		}
	}
	err := r.eachPage(ctx, taken, func(page []*NameRecord, now Instant) error {
		for _, n := range page {
			r.report.Looked++
			if !filed[n.ID] {
				r.find(Finding{Kind: FindingUnfiled, Name: standAt(n, now).Name})
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
	err := r.eachPage(ctx, []State{Free, Held, Alias, Quarantined}, func(page []*NameRecord, now Instant) error {
		for _, n := range page {
			if stateAt(n, now) == Free && !filed[n.ID] {
				epoch, rev = max(epoch, n.Epoch), max(rev, n.Rev)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	raise, invalid := r.policies.raiseRecord(r.request.Namespace, epoch, rev)
	return r.change(ctx, raise, invalid)
}
