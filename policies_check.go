package dibs

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// OtherRules is a namespace whose names were made by other rules than a policy has; see
// [Registry.CheckPolicies].
type OtherRules struct {
	Namespace string
	OnRecord  string // the rules that its names were made by, such as "exact/1"
	Policy    string // those that the policy has
}

// OtherRulesError says which namespaces policies would put under other rules. The first
// 1,000 are listed.
type OtherRulesError struct {
	Namespaces []OtherRules // by name
	More       int          // how many there are beside those
}

// Error names the first of the namespaces, and what to do.
func (e *OtherRulesError) Error() string {
	const shown = 5
	var b strings.Builder
	b.WriteString("dibs: names would be under other rules than they were made by:")
	for i, n := range e.Namespaces[:min(shown, len(e.Namespaces))] {
		if i > 0 {
			b.WriteString(";")
		}
		fmt.Fprintf(&b, " %s has %s on record, and the policy has %s", n.Namespace, n.OnRecord, n.Policy)
	}
	if more := len(e.Namespaces) + e.More - shown; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	b.WriteString("; go back to the rules on record, or change each namespace by Recanonicalize first")
	return b.String()
}

// CheckPolicies says whether policies can take the place of those that a Registry made by
// [Open] has: it returns an [*OtherRulesError] if names that are there were made by other
// rules than the policies have. No new names would be given out in those namespaces; they
// take [Registry.Recanonicalize] first. A namespace that is being brought under the new
// rules is none of them. It changes nothing.
func (r *Registry) CheckPolicies(ctx context.Context, byNamespace map[string]Policy, fallback Policy) error {
	b, ok := r.backend.(embedded)
	if !ok {
		return fmt.Errorf("%w: the policies are the server's", ErrUnsupported)
	}
	set, err := newPolicies(byNamespace, fallback)
	if err != nil {
		return err
	}
	var other OtherRulesError
	err = eachFloor(ctx, b.engine(), func(namespace string, f floor) error {
		space, invalid := set.space(namespace)
		if invalid != nil {
			return invalid
		}
		rules := space.policy.rules
		switch {
		case f.madeBy(rules), f.Next == rules:
		case len(other.Namespaces) < maxFindings:
			other.Namespaces = append(other.Namespaces, OtherRules{namespace, f.Rules, rules})
		default:
			other.More++
		}
		return nil
	})
	if err != nil || len(other.Namespaces) == 0 {
		return err
	}
	slices.SortFunc(other.Namespaces, func(a, b OtherRules) int { return strings.Compare(a.Namespace, b.Namespace) })
	return &other
}

// eachFloor calls fn with what is on record of each namespace that ever had a name.
func eachFloor(ctx context.Context, store Store, fn func(namespace string, f floor) error) error {
	query := ListQuery{Kind: KindFloor, Limit: recanonicalizePage}
	for {
		page, err := store.List(ctx, query)
		if err != nil {
			return err
		}
		for _, record := range page {
			doc := record.(*Document)
			f, damaged := decodeFloor(doc)
			if damaged != nil {
				return damaged
			}
			if err := fn(doc.Label, f); err != nil {
				return err
			}
			query.After = &ListPosition{Label: doc.Label}
		}
		if len(page) < query.Limit {
			return nil
		}
	}
}
