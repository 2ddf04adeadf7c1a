package dibs

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
)

// Open returns a Registry over an engine. The Registry owns the store from then
// on, and closes it.
func Open(store Store, cfg Config) (*Registry, error) {
	if err := validateConfig(cfg); err != nil {
		return nil, err
	}
	shared := new(atomic.Pointer[policySet])
	if err := setPolicies(shared, cfg.Policies, cfg.Default); err != nil {
		return nil, err
	}
	if whole, ok := store.(Partitioned); ok && len(whole.Parts()) > 1 {
		return NewRegistry(observe(openRouted(whole, cfg, shared), cfg.Observer)), nil
	}
	return NewRegistry(observe(openCore(store, withConfigDefaults(cfg, store), shared, newBroadcast()), cfg.Observer)), nil
}

// policySet is a set of policies with a number that no other set of this process has.
type policySet struct {
	*policies
	generation uint64
}

var generations atomic.Uint64

func setPolicies(shared *atomic.Pointer[policySet], byNamespace map[string]Policy, fallback Policy) error {
	set, err := newPolicies(byNamespace, fallback)
	if err != nil {
		return err
	}
	shared.Store(&policySet{set, generations.Add(1)})
	return nil
}

func policyOf(shared *atomic.Pointer[policySet], namespace string) (Policy, error) {
	policy, err := shared.Load().policy(namespace)
	if err != nil {
		return Policy{}, err
	}
	return policy, nil
}

// checkPolicies compares policies with the rules on record of every namespace.
func checkPolicies(ctx context.Context, store Store, byNamespace map[string]Policy, fallback Policy) error {
	set, err := newPolicies(byNamespace, fallback)
	if err != nil {
		return err
	}
	var other OtherRulesError
	query := ListQuery{Kind: KindFloor, Limit: recanonicalizePage}
	for {
		page, err := store.List(ctx, query)
		if err != nil {
			return err
		}
		for _, record := range page {
			doc := record.(*Document)
			rules, differ, damaged := set.otherRules(doc)
			switch {
			case damaged != nil:
				return damaged
			case !differ:
			case len(other.Namespaces) < maxFindings:
				other.Namespaces = append(other.Namespaces, rules)
			default:
				other.More++
			}
			query.After = &ListPosition{Label: doc.Label}
		}
		if len(page) < query.Limit {
			break
		}
	}
	if len(other.Namespaces) == 0 {
		return nil
	}
	slices.SortFunc(other.Namespaces, func(a, b OtherRules) int { return strings.Compare(a.Namespace, b.Namespace) })
	return &other
}
