package access

import (
	"errors"
	"fmt"
	"slices"
)

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

// has reports whether the grant includes a verb, in any namespace.
func (g Grant) has(v Verb) bool {
	return slices.ContainsFunc(g.Verbs, func(granted Verb) bool { return granted.covers(v) })
}
