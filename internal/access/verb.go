// Package access says who may do what: verbs, where they are granted, and to whom.
package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/calldibs/dibs"
)

// Verb is one thing that a caller may do, or a group of them.
type Verb string

// The verbs. Those that change something are the commands of the same name.
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
	Bulk   Verb = "bulk" // asking in bulk what is taken: checks of many values, listings

	Forget           Verb = "forget"           // erasing a person: nobody can undo it, so it is in no group but all
	OverrideReserved Verb = "overrideReserved" // taking reserved words
	ActForOthers     Verb = "actForOthers"     // using the holds of others, with their tokens
	Webhooks         Verb = "webhooks"         // having events sent somewhere; it takes events, too
)

// The groups. Each stands for its verbs wherever a verb can stand.
const (
	Read    Verb = "read"    // ask about one name
	Watch   Verb = "watch"   // see everything there is
	Hold    Verb = "hold"    // reserve names, and end that
	Own     Verb = "own"     // change who has which name
	Operate Verb = "operate" // look after the registry
	All     Verb = "all"     // every verb, also those that are in no other group
)

// groups are the verbs of each group.
var groups = map[Verb][]Verb{
	Read:    {Check, Resolve, Get, History},
	Watch:   {List, Events, Stats, Bulk},
	Hold:    {Reserve, Extend, Confirm, Release},
	Own:     {Claim, Rename, Archive, Restore, Delete, Decommission, Transfer, Swap},
	Operate: {Settle, Sweep, Rekey, Recanonicalize},
	All:     nil, // see Verbs
}

// Verbs returns all verbs without the groups, in the order of their names.
func Verbs() []Verb {
	verbs := []Verb{Forget, OverrideReserved, ActForOthers, Webhooks}
	for _, members := range groups {
		verbs = append(verbs, members...)
	}
	slices.Sort(verbs)
	return verbs
}

// VerbsOf returns all verbs that a command takes. A confirm that replaces a name does to an
// entity what a rename does, so it takes the right to that, too.
func VerbsOf(command dibs.Command) []Verb {
	verbs := []Verb{VerbOf(command)}
	if c, ok := command.(dibs.Confirm); ok && (c.Replace || c.Replaces != "") {
		verbs = append(verbs, Rename)
	}
	return verbs
}

// VerbOf returns the verb that a command is. A command that is not known here takes one
// that cannot be granted.
func VerbOf(command dibs.Command) Verb {
	switch command.(type) {
	case dibs.Reserve, dibs.ReserveAll, dibs.ReserveFirst:
		return Reserve
	case dibs.Extend:
		return Extend
	case dibs.Confirm:
		return Confirm
	case dibs.Release:
		return Release
	case dibs.Claim:
		return Claim
	case dibs.Rename:
		return Rename
	case dibs.Archive:
		return Archive
	case dibs.Restore:
		return Restore
	case dibs.Delete:
		return Delete
	case dibs.Decommission:
		return Decommission
	case dibs.Transfer:
		return Transfer
	case dibs.Swap:
		return Swap
	case dibs.Settle:
		return Settle
	case dibs.Rekey:
		return Rekey
	default:
		return none
	}
}

// none is a verb that no grant has, not even one for all.
const none Verb = ""

// Groups returns the names of all groups, in order.
func Groups() []Verb {
	return []Verb{All, Hold, Operate, Own, Read, Watch}
}

// covers reports whether a verb that was granted, or a group, is or has the one asked for.
func (v Verb) covers(asked Verb) bool {
	return asked != none && (v == asked || v == All || slices.Contains(groups[v], asked))
}

func (v Verb) check() error {
	if _, group := groups[v]; group || slices.Contains(Verbs(), v) {
		return nil
	}
	for _, known := range append(Groups(), Verbs()...) {
		if strings.EqualFold(string(known), string(v)) {
			return fmt.Errorf("there is no verb %q: write %s", v, known)
		}
	}
	return fmt.Errorf("there is no verb %q: use a group, %s, or one of %s", v, join(Groups()), join(Verbs()))
}

func join(verbs []Verb) string {
	texts := make([]string, len(verbs))
	for i, v := range verbs {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}
