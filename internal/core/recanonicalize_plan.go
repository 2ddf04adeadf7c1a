package core

import (
	"context"
	"errors"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// find notes a finding.
func (r *recanonicalizer) find(f dibs.Finding) {
	r.report.Counts[f.Kind]++
	if r.report.Counts[f.Kind] <= maxFindings {
		r.report.Findings = append(r.report.Findings, f)
	}
}

// plan looks at every name.
func (r *recanonicalizer) plan(ctx context.Context) error {
	plan := r.policies.NewPlan()
	return r.eachPage(ctx, taken, func(records []*dibs.NameRecord, now dibs.Instant) error {
		r.report.Looked += len(records)
		page := plan.Page(records, now)
		if _, err := askAlone(ctx, r.core, page.Job); err != nil {
			return err
		}
		for _, f := range page.Findings() {
			if !f.Other.IsZero() && r.report.Counts[f.Kind] < maxFindings {
				with, err := r.Get(ctx, dibs.Lookup{ID: f.Other})
				if err != nil && !errors.Is(err, dibs.ErrNotFound) {
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
	filed := make(map[dibs.ID]bool)
	prefix, invalid := r.policies.HashPrefix(r.request.Namespace)
	if invalid != nil {
		return invalid
	}
	query := dibs.ListQuery{Kind: dibs.KindHash, From: prefix, To: afterPrefix(prefix), Limit: recanonicalizePage}
	for {
		records, err := r.store.List(ctx, query)
		if err != nil {
			return err
		}
		for _, record := range records {
			doc := record.(*dibs.Document)
			names, err := rules.IndexedNames(doc)
			if err != nil {
				return err
			}
			for _, id := range names {
				filed[id] = true
			}
			query.After = &dibs.ListPosition{Label: doc.Label}
		}
		if len(records) < query.Limit {
			break
		}
	}
	err := r.eachPage(ctx, taken, func(page []*dibs.NameRecord, now dibs.Instant) error {
		for _, n := range page {
			r.report.Looked++
			if !filed[n.ID] {
				name, _ := rules.ShowAsOf(n, now)
				r.find(dibs.Finding{Kind: dibs.FindingUnfiled, Name: name})
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
func (r *recanonicalizer) raiseOver(ctx context.Context, filed map[dibs.ID]bool) error {
	var epoch, rev uint64
	err := r.eachPage(ctx, []dibs.State{dibs.Free, dibs.Held, dibs.Alias, dibs.Quarantined}, func(page []*dibs.NameRecord, now dibs.Instant) error {
		for _, n := range page {
			if rules.StateAsOf(n, now) == dibs.Free && !filed[n.ID] {
				epoch, rev = max(epoch, n.Epoch), max(rev, n.Rev)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	raise, invalid := r.policies.RaiseRecord(r.request.Namespace, epoch, rev)
	return r.change(ctx, raise, invalid)
}
