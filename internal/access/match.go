package access

import (
	"slices"
	"strings"
)

// CheckPattern says what is wrong with a pattern of namespaces, or nothing.
func CheckPattern(pattern string) error { return checkPattern(pattern) }

// Match reports whether any of the patterns is for a namespace.
func Match(patterns []string, namespace string) bool {
	return Grant{Namespaces: patterns}.in(namespace)
}

// MatchScope reports whether any of the patterns is for a whole scope.
func MatchScope(patterns []string, scope string) bool {
	return Grant{Namespaces: patterns}.inScope(scope)
}

// MayPattern reports whether the caller may do something in every namespace that a
// pattern is for.
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

// Patterns returns the namespaces in which the caller may do all of several things, as
// patterns of its grants.
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
