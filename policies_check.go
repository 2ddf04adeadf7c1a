package dibs

import (
	"fmt"
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
