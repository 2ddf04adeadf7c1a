package core

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// sharedPolicies are the current policies. All cores of a registry share them, also those that
// are bound to a transaction.
type sharedPolicies = atomic.Pointer[policySet]

// policySet is a set of policies with a number that no other set of this process has.
type policySet struct {
	*rules.Policies
	generation uint64
}

var generations atomic.Uint64

func newPolicySet(byNamespace map[string]dibs.Policy, fallback dibs.Policy) (*policySet, error) {
	set, err := rules.NewPolicies(byNamespace, fallback)
	if err != nil {
		return nil, err
	}
	return &policySet{set, generations.Add(1)}, nil
}

func newSharedPolicies(cfg dibs.Config) (*sharedPolicies, error) {
	set, err := newPolicySet(cfg.Policies, cfg.Default)
	if err != nil {
		return nil, err
	}
	shared := new(sharedPolicies)
	shared.Store(set)
	return shared, nil
}

// policies is the part of a backend that is about policies. Backends embed it.
type policies struct {
	shared *sharedPolicies
	of     dibs.Store // whose namespaces CheckPolicies compares
}

// rules returns the rules under the current policies.
func (p policies) rules() *rules.Policies { return p.shared.Load().Policies }

// SetPolicies replaces all policies.
func (p policies) SetPolicies(byNamespace map[string]dibs.Policy, fallback dibs.Policy) error {
	set, err := newPolicySet(byNamespace, fallback)
	if err != nil {
		return err
	}
	p.shared.Store(set)
	return nil
}

// Policy returns the policy of a namespace.
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
	query := dibs.ListQuery{Kind: dibs.KindFloor, Limit: recanonicalizePage}
	for doc, err := range listAll[*dibs.Document](ctx, p.of, query) {
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
