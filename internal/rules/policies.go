package rules

import (
	"fmt"

	"github.com/calldibs/dibs"
)

// Policies are the policies of all namespaces. Their methods prepare all requests and jobs. They are
// immutable, and safe for concurrent use.
type Policies struct {
	byName   map[string]*policy
	fallback *policy
}

// NewPolicies checks policies and fills in their defaults. They are configured by namespace or by
// type; fallback is for all others.
func NewPolicies(configured map[string]dibs.Policy, fallback dibs.Policy) (*Policies, error) {
	set := &Policies{byName: make(map[string]*policy, len(configured))}
	for name, p := range configured {
		if _, _, err := splitNamespace(name); err != nil {
			return nil, fmt.Errorf("dibs: policy for %q: %w", name, err)
		}
		var err error
		if set.byName[name], err = newPolicy(p); err != nil {
			return nil, fmt.Errorf("dibs: policy for %q: %w", name, err)
		}
	}
	var err error
	if set.fallback, err = newPolicy(fallback); err != nil {
		return nil, fmt.Errorf("dibs: default policy: %w", err)
	}
	return set, nil
}

// namespace splits a namespace and finds its policy: that of the whole namespace, else that of its
// type, else the default.
func (set *Policies) namespace(namespace string) (namespaceInfo, *dibs.Error) {
	scope, kind, err := splitNamespace(namespace)
	if err != nil {
		return namespaceInfo{}, err
	}
	ns := namespaceInfo{namespace: namespace, scope: scope, kind: kind, policy: set.fallback}
	if policy, ok := set.byName[namespace]; ok {
		ns.policy = policy
	} else if policy, ok := set.byName[kind]; ok {
		ns.policy = policy
	}
	return ns, nil
}

// Policy returns the policy of a namespace, with every default filled in.
func (set *Policies) Policy(namespace string) (dibs.Policy, *dibs.Error) {
	ns, err := set.namespace(namespace)
	if err != nil {
		return dibs.Policy{}, err
	}
	return ns.policy.Policy, nil
}

// RulesOf returns the rules of a well-formed namespace.
func (set *Policies) RulesOf(namespace string) string {
	ns, err := set.namespace(namespace)
	if err != nil {
		return ""
	}
	return ns.policy.rules
}

// OtherRules compares the rules in the document of a namespace record with those of its policy.
func (set *Policies) OtherRules(doc *dibs.Document) (rules dibs.OtherRules, differ bool, damaged *dibs.Error) {
	record, damaged := decodeNamespaceRecord(doc)
	if damaged != nil {
		return rules, false, damaged
	}
	ns, damaged := set.namespace(doc.Label)
	if damaged != nil {
		return rules, false, damaged
	}
	rules = dibs.OtherRules{Namespace: doc.Label, OnRecord: record.Rules, Policy: ns.policy.rules}
	return rules, !record.madeBy(rules.Policy) && record.Next != rules.Policy, nil
}
