package core

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// policySet is a set of policies with a number that no other set of this process has.
type policySet struct {
	*rules.Policies
	generation uint64
}

var lastGeneration atomic.Uint64

// policies is the part of a backend that is about policies. Backends embed it.
type policies struct {
	current *atomic.Pointer[policySet] // shared by all cores of a registry, in transactions too
	store   dibs.Store                 // whose namespaces CheckPolicies compares
}

// rules returns the rules under the current policies.
func (p policies) rules() *rules.Policies { return p.current.Load().Policies }

func (p policies) SetPolicies(byNamespace map[string]dibs.Policy, fallback dibs.Policy) error {
	set, err := rules.NewPolicies(byNamespace, fallback)
	if err != nil {
		return err
	}
	p.current.Store(&policySet{set, lastGeneration.Add(1)})
	return nil
}

func (p policies) Policy(namespace string) (dibs.Policy, error) {
	policy, err := p.rules().Policy(namespace)
	if err != nil {
		return dibs.Policy{}, err
	}
	return policy, nil
}

// CheckPolicies compares policies with the rules on record of every namespace.
func (p policies) CheckPolicies(ctx context.Context, byNamespace map[string]dibs.Policy, fallback dibs.Policy) error {
	set, err := rules.NewPolicies(byNamespace, fallback)
	if err != nil {
		return err
	}
	var other dibs.OtherRulesError
	query := dibs.ListQuery{Kind: dibs.KindNamespace, Limit: recanonicalizePage}
	for doc, err := range listAll[*dibs.Document](ctx, p.store, query) {
		if err != nil {
			return err
		}
		rules, differ, damaged := set.OtherRules(doc)
		switch {
		case damaged != nil:
			return damaged
		case !differ:
		case len(other.Namespaces) < maxFindings:
			other.Namespaces = append(other.Namespaces, rules)
		default:
			other.More++
		}
	}
	if len(other.Namespaces) == 0 {
		return nil
	}
	slices.SortFunc(other.Namespaces, func(a, b dibs.OtherRules) int { return strings.Compare(a.Namespace, b.Namespace) })
	return &other
}
