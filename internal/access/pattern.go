package access

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// namespace is the form of a namespace, the same as in package dibs.
var namespace = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}(\.[a-z0-9][a-z0-9_-]{0,62}){0,7}$`)

// CheckPattern reports what is wrong with a namespace pattern: "*" matches all namespaces,
// "acme.*" those in the scope acme and below it, "acme.slug" that one.
func CheckPattern(pattern string) error {
	example := pattern // a namespace that the pattern matches
	if scope, below := strings.CutSuffix(pattern, ".*"); below {
		example = scope + ".x"
	}
	if pattern != "*" && !namespace.MatchString(example) {
		return fmt.Errorf(`%q is not a namespace pattern: write "*" for all, "acme.*" for the scope acme and all below it, `+
			`or one namespace such as "acme.slug"`, pattern)
	}
	return nil
}

// Match reports whether one of the patterns matches a namespace. The empty namespace means
// all namespaces.
func Match(patterns []string, namespace string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		scope, below := strings.CutSuffix(pattern, ".*")
		switch {
		case pattern == "*":
			return true
		case below:
			return strings.HasPrefix(namespace, scope+".")
		default:
			return namespace == pattern && namespace != ""
		}
	})
}

// MatchScope reports whether one of the patterns matches every namespace that a scope has
// or could have.
func MatchScope(patterns []string, scope string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		granted, below := strings.CutSuffix(pattern, ".*")
		return pattern == "*" || below && strings.HasPrefix(scope+".", granted+".")
	})
}
