package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Grant allows verbs in namespaces. The zero Grant allows nothing, and is not valid.
type Grant struct {
	// Verbs are verbs and groups.
	Verbs []Verb `json:"verbs"`
	// Namespaces says where: "*" is everywhere, "acme.*" every namespace in the scope
	// acme and below it, "acme.slug" that one.
	Namespaces []string `json:"namespaces"`
}

// Validate says what is wrong with a grant, or nothing.
func (g Grant) Validate() error {
	if len(g.Verbs) == 0 {
		return fmt.Errorf("a grant needs a verb: a group, %s, or single verbs", join(Groups()))
	}
	if len(g.Namespaces) == 0 {
		return errors.New(`a grant needs a namespace: "*", "acme.*" or "acme.slug"`)
	}
	for _, v := range g.Verbs {
		if err := v.check(); err != nil {
			return err
		}
	}
	for _, pattern := range g.Namespaces {
		if err := checkPattern(pattern); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether the grant is for a verb, wherever that is.
func (g Grant) has(v Verb) bool {
	return slices.ContainsFunc(g.Verbs, func(granted Verb) bool { return granted.covers(v) })
}

// in reports whether the grant is for a namespace. The empty one is all of them.
func (g Grant) in(namespace string) bool {
	return slices.ContainsFunc(g.Namespaces, func(pattern string) bool {
		scope, below := strings.CutSuffix(pattern, ".*")
		switch {
		case pattern == "*":
			return true
		case namespace == "":
			return false
		case below:
			return strings.HasPrefix(namespace, scope+".")
		default:
			return namespace == pattern
		}
	})
}

// inScope reports whether the grant is for every namespace that a scope has or could
// have.
func (g Grant) inScope(scope string) bool {
	return slices.ContainsFunc(g.Namespaces, func(pattern string) bool {
		granted, below := strings.CutSuffix(pattern, ".*")
		return pattern == "*" || below && strings.HasPrefix(scope+".", granted+".")
	})
}
