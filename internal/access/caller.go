package access

import (
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// Caller is the principal behind a request, and its rights. The zero Caller has no rights.
type Caller struct {
	// Name is the principal; empty if the caller is anonymous.
	Name   string
	Grants []Grant
}

// Everything is the anonymous caller of a server without keys that only this machine can
// reach. It has all rights everywhere.
var Everything = Caller{Grants: []Grant{{Verbs: []Verb{All}, Namespaces: []string{"*"}}}}

// May reports whether the caller has a right in a namespace. The empty namespace means all
// namespaces, as in a listing of everything.
func (c Caller) May(v Verb, namespace string) bool {
	return slices.ContainsFunc(c.Grants, func(g Grant) bool { return g.has(v) && Match(g.Namespaces, namespace) })
}

// MaySomewhere reports whether the caller has a right in at least one namespace.
func (c Caller) MaySomewhere(v Verb) bool {
	return slices.ContainsFunc(c.Grants, func(g Grant) bool { return g.has(v) })
}

// MayInScope reports whether the caller has a right to the entities of a scope. An entity
// can have names in every namespace of its scope, so the caller needs a grant for the whole
// scope or for one that contains it. The empty scope needs a grant for everything.
func (c Caller) MayInScope(v Verb, scope string) bool {
	return slices.ContainsFunc(c.Grants, func(g Grant) bool { return g.has(v) && MatchScope(g.Namespaces, scope) })
}

// MayPattern reports whether the caller has a right in every namespace that a pattern
// matches.
func (c Caller) MayPattern(v Verb, pattern string) bool {
	switch scope, below := strings.CutSuffix(pattern, ".*"); {
	case pattern == "*":
		return c.May(v, "")
	case below:
		return c.MayInScope(v, scope)
	default:
		return c.May(v, pattern)
	}
}

// Patterns returns the patterns in the caller's grants for which it has all of the verbs.
func (c Caller) Patterns(verbs ...Verb) []string {
	var patterns []string
	for _, g := range c.Grants {
		for _, pattern := range g.Namespaces {
			lacks := func(v Verb) bool { return !c.MayPattern(v, pattern) }
			if !slices.ContainsFunc(verbs, lacks) && !slices.Contains(patterns, pattern) {
				patterns = append(patterns, pattern)
			}
		}
	}
	return patterns
}

// RightsIn converts the caller's rights in a namespace to those of [dibs.Principal]. The
// empty namespace means all namespaces.
func (c Caller) RightsIn(namespace string) (rights dibs.Rights) {
	if c.May(OverrideReserved, namespace) {
		rights |= dibs.OverrideReserved
	}
	if c.May(ActForOthers, namespace) {
		rights |= dibs.ActForOthers
	}
	// The registry has one right for both verbs; the server has checked the exact one.
	if c.May(Settle, namespace) || c.May(Recanonicalize, namespace) {
		rights |= dibs.Operate
	}
	return rights
}
