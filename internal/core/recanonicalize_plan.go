package core

import (
	"context"
	"errors"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// plan finds out what becomes of every name under the new rules.
func (r *recanonicalizer) plan(ctx context.Context) error {
	plan := r.policies.NewPlan()
	return r.eachPage(ctx, notFree, func(records []*dibs.NameRecord, now dibs.Instant) error {
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

// find adds a finding to the report.
func (r *recanonicalizer) find(f dibs.Finding) {
	r.report.Counts[f.Kind]++
	if r.report.Counts[f.Kind] <= maxFindings {
		r.report.Findings = append(r.report.Findings, f)
	}
}

// findUnindexed finds names of a blind namespace that are not in the index of its newest key.
func (r *recanonicalizer) findUnindexed(ctx context.Context) error {
	prefix, invalid := r.policies.HashPrefix(r.request.Namespace)
	if invalid != nil {
		return invalid
	}
	indexed := make(map[dibs.ID]bool)
	query := dibs.ListQuery{Kind: dibs.KindHash, From: prefix, To: afterPrefix(prefix), Limit: recanonicalizePage}
	for doc, err := range listAll[*dibs.Document](ctx, r.store, query) {
		if err != nil {
			return err
		}
		names, damaged := rules.IndexedNames(doc)
		if damaged != nil {
			return damaged
		}
		for _, id := range names {
			indexed[id] = true
		}
	}
	err := r.eachPage(ctx, notFree, func(page []*dibs.NameRecord, now dibs.Instant) error {
		for _, n := range page {
			r.report.Looked++
			if !indexed[n.ID] {
				name, _ := rules.ShowAsOf(n, now)
				r.find(dibs.Finding{Kind: dibs.FindingUnfiled, Name: name})
			}
		}
		return nil
	})
	if err != nil || r.request.DryRun {
		return err
	}
	return r.raiseRecord(ctx, indexed)
}

// raiseRecord raises the epoch and revision of the namespace record above those of free names
// that are not in the index. Such a name cannot be found by the newest key, so when it is
// reserved again it is a new row, and its epochs must not start at 1.
func (r *recanonicalizer) raiseRecord(ctx context.Context, indexed map[dibs.ID]bool) error {
	var epoch, rev uint64
	err := r.eachPage(ctx, []dibs.State{dibs.Free, dibs.Held, dibs.Alias, dibs.Quarantined}, func(page []*dibs.NameRecord, now dibs.Instant) error {
		for _, n := range page {
			if rules.StateAsOf(n, now) == dibs.Free && !indexed[n.ID] {
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
