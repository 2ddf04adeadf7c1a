// Package access authorizes callers: verbs, the namespaces in which they are granted, and
// the reasons of refusals.
package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// Verb is the right to one action, or a group of them.
type Verb string

// The verbs. Those that change something are commands of the same name.
const (
	Reserve Verb = "reserve"
	Extend  Verb = "extend"
	Confirm Verb = "confirm"
	Release Verb = "release"

	Claim        Verb = "claim"
	Rename       Verb = "rename"
	Archive      Verb = "archive"
	Restore      Verb = "restore"
	Delete       Verb = "delete"
	Decommission Verb = "decommission"
	Transfer     Verb = "transfer"
	Swap         Verb = "swap"

	Import Verb = "import" // bring names with their dates from another system; in the group all only

	Settle         Verb = "settle"
	Sweep          Verb = "sweep"
	Rekey          Verb = "rekey"
	Recanonicalize Verb = "recanonicalize"

	Check   Verb = "check"
	Resolve Verb = "resolve"
	Get     Verb = "get"
	History Verb = "history"

	List   Verb = "list"
	Events Verb = "events"
	Stats  Verb = "stats"
	Bulk   Verb = "bulk" // check many values at once, list what is taken

	Forget           Verb = "forget"           // erase a person; irreversible, so it is only in the group all
	OverrideReserved Verb = "overrideReserved" // take reserved words
	ActForOthers     Verb = "actForOthers"     // use the holds of others, with their tokens
	Webhooks         Verb = "webhooks"         // send events to a URL; needs the verb events, too
	Keys             Verb = "keys"             // make, list and revoke API keys; see [Caller.Lacks]
)

// The groups. A group can stand wherever a verb can.
const (
	Read    Verb = "read"    // ask about one name
	Watch   Verb = "watch"   // see everything
	Hold    Verb = "hold"    // reserve names, and end reservations
	Own     Verb = "own"     // change names and owners
	Operate Verb = "operate" // maintain the registry
	All     Verb = "all"     // every verb, including those in no other group
)

var groups = map[Verb][]Verb{
	Read:    {Check, Resolve, Get, History},
	Watch:   {List, Events, Stats, Bulk},
	Hold:    {Reserve, Extend, Confirm, Release},
	Own:     {Claim, Rename, Archive, Restore, Delete, Decommission, Transfer, Swap},
	Operate: {Settle, Sweep, Rekey, Recanonicalize},
	All:     nil, // see Verbs
}

// ungrouped verbs are in the group all only.
var ungrouped = []Verb{Import, Forget, OverrideReserved, ActForOthers, Webhooks, Keys}

// Verbs returns all verbs without the groups, sorted.
func Verbs() []Verb {
	verbs := slices.Clone(ungrouped)
	for _, members := range groups {
		verbs = append(verbs, members...)
	}
	slices.Sort(verbs)
	return verbs
}

// Changes reports whether the verb changes anything.
func (v Verb) Changes() bool {
	return !slices.Contains(groups[Read], v) && !slices.Contains(groups[Watch], v)
}

// VerbsOf returns all verbs that a command needs. A confirm that replaces a name has the
// effect of a rename, so it needs that verb, too.
func VerbsOf(command dibs.Command) []Verb {
	verbs := []Verb{VerbOf(command)}
	if c, ok := command.(dibs.Confirm); ok && (c.Replace || c.Replaces != "") {
		verbs = append(verbs, Rename)
	}
	return verbs
}

// VerbOf returns the verb of a command, which is its op; ReserveAll and ReserveFirst take the
// right to reserve. An unknown command gets a verb that cannot be granted.
func VerbOf(command dibs.Command) Verb {
	switch command.(type) {
	case nil:
		return none
	case dibs.ReserveAll, dibs.ReserveFirst:
		return Reserve
	}
	verb := Verb(command.Op())
	for _, members := range groups {
		if slices.Contains(members, verb) {
			return verb
		}
	}
	if verb == Import {
		return verb
	}
	return none
}

// none is a verb that no grant includes, not even one for all.
const none Verb = ""

// Groups returns all groups, sorted.
func Groups() []Verb { return []Verb{All, Hold, Operate, Own, Read, Watch} }

// covers reports whether a granted verb or group includes the one asked for.
func (v Verb) covers(asked Verb) bool {
	return asked != none && (v == asked || v == All || slices.Contains(groups[v], asked))
}

func (v Verb) check() error {
	if _, group := groups[v]; group || slices.Contains(Verbs(), v) {
		return nil
	}
	for _, known := range append(Groups(), Verbs()...) {
		if strings.EqualFold(string(known), string(v)) {
			return fmt.Errorf("unknown verb %q: write %s", v, known)
		}
	}
	return fmt.Errorf("unknown verb %q: use a group, %s, or one of %s", v, Join(Groups()), Join(Verbs()))
}

// Join returns verbs as a text, with commas between them.
func Join(verbs []Verb) string {
	texts := make([]string, len(verbs))
	for i, v := range verbs {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}
