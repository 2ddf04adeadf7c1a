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

// RightsIn returns what the caller may do beyond the ordinary in a namespace, as a registry
// knows it. The empty namespace stands for all of them.
func (c Caller) RightsIn(namespace string) (rights dibs.Rights) {
	if c.May(OverrideReserved, namespace) {
		rights |= dibs.OverrideReserved
	}
	if c.May(ActForOthers, namespace) {
		rights |= dibs.ActForOthers
	}
	// The registry has one right for both. Which of them a caller may is for May to say.
	if c.May(Settle, namespace) || c.May(Recanonicalize, namespace) {
		rights |= dibs.Operate
	}
	return rights
}
