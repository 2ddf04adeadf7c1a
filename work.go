package dibs

import "context"

// WorkKind is what kind of work an [Observer] is told of.
type WorkKind uint8

// The kinds of work.
const (
	WorkCall   WorkKind = iota // a call of the Registry
	WorkBatch                  // what many calls share: a commit ("batch") or a look at the engine ("look")
	WorkEngine                 // a call of the engine
)

// Work describes what begins, for [Observer.Begin]. There is nothing secret in it: no
// value, no token, no entity.
type Work struct {
	Kind WorkKind
	// Op is what is done: a verb in lower case ("reserve", "resolve", "apply" for
	// several commands), "batch" or "look", or what the engine is asked ("load").
	Op string
	// Namespace is where, as far as the call says so in one word.
	Namespace string
	// Size is how many commands, requests, records or groups it is about.
	Size int
	// Callers are the contexts of those who share a batch, for their traces. A batch
	// itself has none of their contexts: none of them can end it.
	Callers []context.Context
}
