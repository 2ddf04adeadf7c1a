package core

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// KeptRules is the message for operators about namespaces that keep their rules.
const KeptRules = "names in these namespaces were made without the checks for mixed scripts and look-alikes, and are still given out " +
	"without them: to switch the checks on, see docs/names.md#safe-by-default"

// KeepRules returns the policies for a registry whose names may be older than the checks that
// policies have by default. A namespace whose names were made by the rules of its former policy
// gets that policy, so that an upgrade neither refuses new names there nor changes existing ones.
// Former policies are by namespace or type, as policies are; a namespace without a scope is its
// type, so all new namespaces of that type have its policy, too. Kept are the namespaces that keep
// their rules, sorted; namespaces with still other rules are left to CheckPolicies.
func KeepRules(
	ctx context.Context, registry *dibs.Registry, byNamespace map[string]dibs.Policy, fallback dibs.Policy, former map[string]dibs.Policy,
) (policies map[string]dibs.Policy, kept []string, err error) {
	policies = maps.Clone(byNamespace)
	keeps := make(map[string]bool)
	for more := true; more; { // CheckPolicies returns some of the namespaces at a time
		more = false
		err := registry.CheckPolicies(ctx, policies, fallback)
		other, ok := errors.AsType[*dibs.OtherRulesError](err)
		if err != nil && !ok {
			return nil, nil, err
		}
		if err == nil {
			break
		}
		for _, n := range other.Namespaces {
			keep, tried := keeps[n.Namespace]
			policy, known := policyOf(former, n.Namespace)
			switch {
			case !tried && known:
				keeps[n.Namespace], more = true, true
			case keep: // it has neither the former rules, nor those of a type that keeps them
				keeps[n.Namespace], more = false, true
				policy, known = policyOf(byNamespace, n.Namespace)
			default:
				known = false
			}
			if known {
				policies[n.Namespace] = policy
			}
		}
	}
	for namespace, keep := range keeps {
		if keep {
			kept = append(kept, namespace)
		}
	}
	slices.Sort(kept)
	return policies, kept, nil
}

// policyOf returns the policy of a namespace, or else of its type.
func policyOf(policies map[string]dibs.Policy, namespace string) (dibs.Policy, bool) {
	policy, ok := policies[namespace]
	if !ok {
		policy, ok = policies[namespace[strings.LastIndexByte(namespace, '.')+1:]]
	}
	return policy, ok
}
