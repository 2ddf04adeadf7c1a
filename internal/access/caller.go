package access

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

// Caller is the principal behind a request, and its rights. The zero Caller has no rights.
type Caller struct {
	// Name is the principal; empty if the caller is anonymous.
	Name   string
	Grants []Grant
	// Until is the end of the caller's API key. Zero means that it has none, or that the caller
	// signed in otherwise.
	Until time.Time
	// SessionEnds is when the session of a browser ends; zero for all other callers.
	SessionEnds time.Time
}

// Everything is the anonymous caller of a server without keys that only this machine can
// reach. It has all rights everywhere.
var Everything = Caller{Grants: []Grant{{Verbs: []Verb{All}, Namespaces: []string{"*"}}}}

// May reports whether the caller has a right in a namespace. The empty namespace means all
// namespaces, as in a listing of everything.
func (c Caller) May(v Verb, namespace string) bool {
	for i := range c.Grants { // every request asks: a closure would be allocated
		if c.Grants[i].has(v) && Match(c.Grants[i].Namespaces, namespace) {
			return true
		}
	}
	return false
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

// Lacks returns the first right that keeps the caller from giving grants to an API key, and the
// pattern for which the caller lacks it; an empty verb means that it may give all of them. It needs
// the verb keys, and everything that it gives. A group is given only by a caller that has the group
// itself: a later version may add verbs to it.
func (c Caller) Lacks(grants []Grant) (verb Verb, pattern string) {
	for _, g := range grants {
		for _, pattern := range g.Namespaces {
			for _, verb := range append([]Verb{Keys}, g.Verbs...) {
				if !c.MayPattern(verb, pattern) {
					return verb, pattern
				}
			}
		}
	}
	return "", ""
}

// MayManage reports whether keys with these grants exist for the caller: it has the verb keys in
// every namespace in which they apply.
func (c Caller) MayManage(grants []Grant) bool {
	return !slices.ContainsFunc(grants, func(g Grant) bool {
		return slices.ContainsFunc(g.Namespaces, func(pattern string) bool { return !c.MayPattern(Keys, pattern) })
	})
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

// Grant allows verbs in namespaces. The zero Grant allows nothing, and is not valid.
type Grant struct {
	// Verbs are verbs and groups.
	Verbs []Verb `json:"verbs"`
	// Namespaces are patterns, see [CheckPattern].
	Namespaces []string `json:"namespaces"`
}

// Validate reports what is wrong with a grant.
func (g Grant) Validate() error {
	if len(g.Verbs) == 0 {
		return fmt.Errorf("a grant needs a verb: a group, %s, or single verbs", Join(Groups()))
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
		if err := CheckPattern(pattern); err != nil {
			return err
		}
	}
	return nil
}

// Each returns the single verbs of the grant, sorted.
func (g *Grant) Each() []Verb {
	return slices.DeleteFunc(Verbs(), func(v Verb) bool { return !g.has(v) })
}

// has reports whether the grant includes a verb, in any namespace.
func (g *Grant) has(v Verb) bool {
	for _, granted := range g.Verbs {
		if granted.covers(v) {
			return true
		}
	}
	return false
}

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
