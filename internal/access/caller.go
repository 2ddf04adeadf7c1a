package access

import (
	"slices"

	"github.com/calldibs/dibs"
)

// Caller is who is asking, and what it may. The zero Caller may nothing.
type Caller struct {
	// Name is the principal; empty where nobody is known.
	Name   string
	Grants []Grant
}

// Everything is the caller of a server without keys, which listens on this machine alone:
// nobody in particular, who may do everything everywhere.
var Everything = Caller{Grants: []Grant{{Verbs: []Verb{All}, Namespaces: []string{"*"}}}}

// May reports whether the caller may do something in a namespace. The empty namespace
// stands for all of them, as in a listing of everything.
func (c Caller) May(v Verb, namespace string) bool {
	return slices.ContainsFunc(c.Grants, func(g Grant) bool { return g.has(v) && g.in(namespace) })
}

// MaySomewhere reports whether there is any namespace in which the caller may do
// something.
func (c Caller) MaySomewhere(v Verb) bool {
	return slices.ContainsFunc(c.Grants, func(g Grant) bool { return g.has(v) })
}

// MayInScope reports whether the caller may do something to an entity of a scope. That
// touches every namespace of the scope, so it takes a grant for the whole scope, or for
// one that it is in. The empty scope takes one for everything.
func (c Caller) MayInScope(v Verb, scope string) bool {
	return slices.ContainsFunc(c.Grants, func(g Grant) bool { return g.has(v) && g.inScope(scope) })
}

// Principal returns the caller for [dibs.Registry.As], with the rights that it has in
// every one of the namespaces that a request is about. A registry knows rights without
// namespaces, so they must not be more: without any namespace they are those that were
// granted everywhere.
func (c Caller) Principal(namespaces ...string) dibs.Principal {
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	everywhere := func(v Verb) bool {
		return !slices.ContainsFunc(namespaces, func(n string) bool { return !c.May(v, n) })
	}
	p := dibs.Principal{Name: c.Name}
	if everywhere(OverrideReserved) {
		p.Rights |= dibs.OverrideReserved
	}
	if everywhere(ActForOthers) {
		p.Rights |= dibs.ActForOthers
	}
	// The registry has one right for both. Which of them a caller may is for May to say.
	if everywhere(Settle) || everywhere(Recanonicalize) {
		p.Rights |= dibs.Operate
	}
	return p
}
