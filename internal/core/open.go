package core

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
)

// Open returns a Registry over an engine. The Registry owns the store from then
// on, and closes it.
func Open(store dibs.Store, cfg dibs.Config) (*dibs.Registry, error) {
	if err := validateConfig(cfg); err != nil {
		return nil, err
	}
	shared := new(atomic.Pointer[policySet])
	if err := setPolicies(shared, cfg.Policies, cfg.Default); err != nil {
		return nil, err
	}
	if whole, ok := store.(dibs.Partitioned); ok && len(whole.Parts()) > 1 {
		return dibs.NewRegistry(observe(openRouted(whole, cfg, shared), cfg.Observer)), nil
	}
	return dibs.NewRegistry(observe(openCore(store, withConfigDefaults(cfg, store), shared, newBroadcast()), cfg.Observer)), nil
}

// policySet is a set of policies with a number that no other set of this process has.
type policySet struct {
	*rules.Policies
	generation uint64
}

var generations atomic.Uint64

func setPolicies(shared *atomic.Pointer[policySet], byNamespace map[string]dibs.Policy, fallback dibs.Policy) error {
	set, err := rules.NewPolicies(byNamespace, fallback)
	if err != nil {
		return err
	}
	shared.Store(&policySet{set, generations.Add(1)})
	return nil
}

func policyOf(shared *atomic.Pointer[policySet], namespace string) (dibs.Policy, error) {
	policy, err := shared.Load().Policy(namespace)
	if err != nil {
		return dibs.Policy{}, err
	}
	return policy, nil
}

// checkPolicies compares policies with the rules on record of every namespace.
func checkPolicies(ctx context.Context, store dibs.Store, byNamespace map[string]dibs.Policy, fallback dibs.Policy) error {
	set, err := rules.NewPolicies(byNamespace, fallback)
	if err != nil {
		return err
	}
	var other dibs.OtherRulesError
	query := dibs.ListQuery{Kind: dibs.KindFloor, Limit: recanonicalizePage}
	for {
		page, err := store.List(ctx, query)
		if err != nil {
			return err
		}
		for _, record := range page {
			doc := record.(*dibs.Document)
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
			query.After = &dibs.ListPosition{Label: doc.Label}
		}
		if len(page) < query.Limit {
			break
		}
	}
	if len(other.Namespaces) == 0 {
		return nil
	}
	slices.SortFunc(other.Namespaces, func(a, b dibs.OtherRules) int { return strings.Compare(a.Namespace, b.Namespace) })
	return &other
}
