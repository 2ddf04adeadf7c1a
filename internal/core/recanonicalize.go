package core

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

const (
	// maxFindings is how many names of each kind of finding are listed.
	maxFindings = 1000

	recanonicalizePage = 500
)

// Recanonicalize plans first. Only if nothing stands in the way, names are changed.
func (c *core) Recanonicalize(ctx context.Context, req dibs.RecanonicalizeRequest) (dibs.Recanonicalization, error) {
	if c.writer == nil {
		return dibs.Recanonicalization{}, fmt.Errorf("%w: changing the rules of a namespace inside a transaction of the caller's own", dibs.ErrUnsupported)
	}
	policies := c.rules()
	question, invalid := policies.NamespaceRecord(req.Namespace)
	if invalid != nil {
		return dibs.Recanonicalization{}, invalid
	}
	f, err := askAlone(ctx, c, question)
	if err != nil {
		return dibs.Recanonicalization{}, err
	}
	r := &recanonicalizer{
		core: c, policies: policies, request: req, id: dibs.NewToken(),
		report: dibs.Recanonicalization{
			Namespace: req.Namespace, From: f.Rules, To: policies.RulesOf(req.Namespace), Counts: make(map[dibs.FindingKind]int),
		},
	}
	err = r.run(ctx, f)
	return r.report, err
}

// recanonicalizer is one run of Recanonicalize.
type recanonicalizer struct {
	*core
	policies *rules.Policies // those that it began with, whatever the core has by now
	request  dibs.RecanonicalizeRequest
	id       string // of the run
	report   dibs.Recanonicalization
}

func (r *recanonicalizer) run(ctx context.Context, f rules.NamespaceRecord) error {
	blind := func(rules string) bool { return strings.HasSuffix(rules, " blind") }
	switch to := r.report.To; {
	case blind(to) && (f.Rules == to || f.Rules == ""):
		return r.findUnfiled(ctx)
	case blind(to) && blind(f.Rules):
		// Of its names there are hashes alone, and those would be hashed once more.
		return &dibs.Error{Code: dibs.CodeInvalidNamespace, Namespace: r.request.Namespace, Message: fmt.Sprintf(
			"%s is %s and cannot become %s: nobody knows the values of a blind namespace; use another one",
			r.request.Namespace, f.Rules, to)}
	case f.Rules != "" && blind(f.Rules) != blind(to):
		return &dibs.Error{Code: dibs.CodeInvalidNamespace, Namespace: r.request.Namespace, Message: fmt.Sprintf(
			"%s is %s and cannot become %s: a history with values cannot be made blind, and hashes cannot be made values; use another namespace",
			r.request.Namespace, f.Rules, to)}
	case f.Rules == to && f.Next == "":
		return nil // every name was made by these rules
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
	begun := f.Next != "" // some names may have been changed already
	if obstacle := r.obstacle(begun); obstacle != nil {
		if begun {
			return obstacle
		}
		if err := r.end(ctx, f.Rules); err != nil {
			return err
		}
		return obstacle
	}
	if err := r.changeNames(ctx); err != nil {
		return err
	}
	return r.end(ctx, r.report.To)
}

// end says that the run is over, and which rules hold.
func (r *recanonicalizer) end(ctx context.Context, rules string) error {
	end, invalid := r.policies.EndRules(r.request.Namespace, rules, r.id)
	return r.change(ctx, end, invalid)
}

// change commits a change of the namespace's record.
func (r *recanonicalizer) change(ctx context.Context, job *rules.Job[struct{}], invalid *dibs.Error) error {
	if invalid != nil {
		return invalid
	}
	if _, err := perform(ctx, r.core, job); err != nil {
		return err
	}
	return nil
}

// obstacle says what stands in the way of changing the rules, if anything.
func (r *recanonicalizer) obstacle(begun bool) *dibs.Error {
	collisions, invalid := r.report.Counts[dibs.FindingCollision], r.report.Counts[dibs.FindingInvalid]
	if collisions == 0 && invalid == 0 {
		return nil
	}
	advice := "no name was changed: rename or decommission those first"
	if begun {
		advice = "others were changed before, so no name is given out meanwhile: decommission those, or go back by running it with the old rules"
	}
	err := &dibs.Error{Code: dibs.CodeNameTaken, Namespace: r.request.Namespace, Message: fmt.Sprintf(
		"under the rules %s, names of %s that would be the same as another one's: %d; that are not valid: %d; %s",
		r.report.To, r.request.Namespace, collisions, invalid, advice)}
	if collisions == 0 {
		err.Code = dibs.CodeInvalidValue
	}
	return err
}

// changeNames brings the names under the new rules, page by page.
func (r *recanonicalizer) changeNames(ctx context.Context) error {
	return r.eachPage(ctx, taken, func(page []*dibs.NameRecord, _ dibs.Instant) error {
		jobs := make([]*rules.Job[bool], len(page))
		for i, n := range page {
			jobs[i] = r.policies.RecanonicalizeName(n.Ref(), r.id)
		}
		answers, err := sendAll(ctx, r.core, jobs, false)
		if err != nil {
			return err
		}
		for i, answer := range answers {
			if err := answer(); err != nil {
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

// taken are the states in which somebody has a name, or waits for it.
var taken = []dibs.State{dibs.Held, dibs.Suspect, dibs.Active, dibs.Alias, dibs.Quarantined}

// eachPage calls fn with all names of the namespace that are in one of these states now.
func (r *recanonicalizer) eachPage(ctx context.Context, states []dibs.State, fn func(page []*dibs.NameRecord, now dibs.Instant) error) error {
	query := dibs.ListQuery{Kind: dibs.KindName, Namespace: r.request.Namespace, Limit: recanonicalizePage, States: states}
	for {
		now, err := r.engineNow(ctx)
		if err != nil {
			return err
		}
		records, err := r.store.List(ctx, query)
		if err != nil {
			return err
		}
		page := make([]*dibs.NameRecord, 0, len(records))
		for _, record := range records {
			n := record.(*dibs.NameRecord)
			query.After = &dibs.ListPosition{Namespace: n.Namespace, Label: n.Canonical}
			if slices.Contains(states, rules.StateAsOf(n, now)) {
				page = append(page, n)
			}
		}
		if err := fn(page, now); err != nil {
			return err
		}
		if len(records) < query.Limit {
			return nil
		}
	}
}
