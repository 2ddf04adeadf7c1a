package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

const (
	maxFindings        = 1000 // of each kind in a report
	recanonicalizePage = 500
)

// Recanonicalize brings the names of a namespace under its present rules. It plans first, and
// changes names only if the plan has no collisions and no invalid names.
func (c *core) Recanonicalize(ctx context.Context, req dibs.RecanonicalizeRequest) (dibs.Recanonicalization, error) {
	if err := c.refuseBound("changing the rules of a namespace"); err != nil {
		return dibs.Recanonicalization{}, err
	}
	policies := c.rules()
	question, invalid := policies.NamespaceRecord(req.Namespace)
	if invalid != nil {
		return dibs.Recanonicalization{}, invalid
	}
	record, err := askAlone(ctx, c, question)
	if err != nil {
		return dibs.Recanonicalization{}, err
	}
	r := &recanonicalizer{
		core: c, policies: policies, request: req, id: dibs.NewToken(),
		report: dibs.Recanonicalization{
			Namespace: req.Namespace, From: record.Rules, To: policies.RulesOf(req.Namespace), Counts: make(map[dibs.FindingKind]int),
		},
	}
	err = r.run(ctx, record)
	return r.report, err
}

// recanonicalizer is one run of Recanonicalize.
type recanonicalizer struct {
	*core
	policies *rules.Policies // at the beginning of the run; they may change meanwhile
	request  dibs.RecanonicalizeRequest
	id       string // of the run
	report   dibs.Recanonicalization
}

func (r *recanonicalizer) run(ctx context.Context, record rules.NamespaceRecord) error {
	blind := func(rules string) bool { return strings.HasSuffix(rules, " blind") }
	switch from, to := record.Rules, r.report.To; {
	case blind(to) && (from == to || from == ""):
		return r.findUnindexed(ctx)
	case blind(to) && blind(from): // the registry has hashes only, and would hash them again
		return r.cannotBecome("a blind namespace does not store values")
	case from != "" && blind(from) != blind(to):
		return r.cannotBecome("a history with values cannot become blind, and hashes cannot become values")
	case from == to && record.Next == "":
		return nil // all names are canonical by these rules
	}
	if r.request.DryRun {
		return r.plan(ctx)
	}
	begin, invalid := r.policies.BeginRules(r.request.Namespace, r.report.To, r.id)
	if err := r.change(ctx, begin, invalid); err != nil {
		return err
	}
	if err := r.plan(ctx); err != nil {
		return err
	}
	begun := record.Next != "" // an earlier run may have changed some names
	if obstacle := r.obstacle(begun); obstacle != nil {
		if begun {
			return obstacle
		}
		if err := r.end(ctx, record.Rules); err != nil {
			return err
		}
		return obstacle
	}
	if err := r.changeNames(ctx); err != nil {
		return err
	}
	return r.end(ctx, r.report.To)
}

// cannotBecome returns the refusal of rules that a namespace cannot change to.
func (r *recanonicalizer) cannotBecome(why string) *dibs.Error {
	return &dibs.Error{Code: dibs.CodeInvalidNamespace, Namespace: r.request.Namespace, Message: fmt.Sprintf(
		"%s has the rules %q and cannot change to %q: %s; use another namespace", r.request.Namespace, r.report.From, r.report.To, why)}
}

// end puts on record that the run is over, and which rules the namespace has.
func (r *recanonicalizer) end(ctx context.Context, rules string) error {
	end, invalid := r.policies.EndRules(r.request.Namespace, rules, r.id)
	return r.change(ctx, end, invalid)
}

// change commits a change of the namespace's record.
func (r *recanonicalizer) change(ctx context.Context, job *rules.Job[struct{}], invalid *dibs.Error) error {
	if invalid != nil {
		return invalid
	}
	if _, err := perform(ctx, r.core, job, true); err != nil {
		return err
	}
	return nil
}

// obstacle returns an error if the plan has collisions or invalid names. begun says that an
// earlier run may have changed some names.
func (r *recanonicalizer) obstacle(begun bool) *dibs.Error {
	collisions, invalid := r.report.Counts[dibs.FindingCollision], r.report.Counts[dibs.FindingInvalid]
	if collisions == 0 && invalid == 0 {
		return nil
	}
	advice := "no name was changed: rename or decommission those names first"
	if begun {
		advice = "an earlier run changed other names, so no new names are accepted until this is done: decommission those names, or return to the old rules by a run with them"
	}
	err := &dibs.Error{Code: dibs.CodeNameTaken, Namespace: r.request.Namespace, Message: fmt.Sprintf(
		"under the rules %s, names of %s that would collide: %d, names that would be invalid: %d; %s",
		r.report.To, r.request.Namespace, collisions, invalid, advice)}
	if collisions == 0 {
		err.Code = dibs.CodeInvalidValue
	}
	return err
}

// changeNames brings the names under the new rules, page by page.
func (r *recanonicalizer) changeNames(ctx context.Context) error {
	return r.eachPage(ctx, notFree, func(page []*dibs.NameRecord, _ dibs.Instant) error {
		jobs := make([]*rules.Job[bool], len(page))
		for i, n := range page {
			jobs[i] = r.policies.RecanonicalizeName(n.Ref(), r.id)
		}
		calls, err := sendAll(ctx, r.core, jobs, false)
		if err != nil {
			return err
		}
		for i, call := range calls {
			if err := r.await(ctx, call); err != nil {
				return err
			}
			if changed, _ := jobs[i].Result(); changed {
				r.report.Done++
			}
		}
		if r.request.Progress != nil {
			r.request.Progress(r.report.Done, r.report.Looked)
		}
		return nil
	})
}

// eachPage calls fn with all names of the namespace that are in one of these states now. The
// time of a page is from before its read.
func (r *recanonicalizer) eachPage(ctx context.Context, states []dibs.State, fn func(page []*dibs.NameRecord, now dibs.Instant) error) error {
	query := dibs.ListQuery{Kind: dibs.KindName, Namespace: r.request.Namespace, Limit: recanonicalizePage, States: states}
	for more := true; more; {
		now, err := r.engineNow(ctx)
		if err != nil {
			return err
		}
		var page []*dibs.NameRecord
		if page, more, err = listPage[*dibs.NameRecord](ctx, r.store, &query); err != nil {
			return err
		}
		page = slices.DeleteFunc(page, func(n *dibs.NameRecord) bool { return !slices.Contains(states, rules.StateAsOf(n, now)) })
		if err := fn(page, now); err != nil {
			return err
		}
	}
	return nil
}

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
