package storetest

import (
	"slices"

	"github.com/calldibs/dibs"
)

// apart splits groups that span scopes, for stores that cannot commit them.
func apart(groups []dibs.Group) []dibs.Group {
	var split []dibs.Group
	for _, g := range groups {
		for _, scope := range scopesIn(g) {
			split = append(split, within(g.Window))
			own := &split[len(split)-1]
			for _, r := range g.Reads {
				if r.Ref.Scope == scope {
					own.Reads = append(own.Reads, r)
				}
			}
			for _, w := range g.Writes {
				if w.Record.Ref().Scope == scope {
					own.Writes = append(own.Writes, w)
				}
			}
			own.Events = append(own.Events, eventsOf(g.Events, scope)...)
			own.Redacts = append(own.Redacts, eventsOf(g.Redacts, scope)...)
		}
	}
	return split
}

// eventsOf returns the events of a scope.
func eventsOf(events []dibs.Event, scope string) (own []dibs.Event) {
	for _, ev := range events {
		if ev.Scope == scope {
			own = append(own, ev)
		}
	}
	return own
}

// scopesIn returns the scopes of a group, in the order in which it names them.
func scopesIn(g dibs.Group) []string {
	var scopes []string
	add := func(scope string) {
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	for _, r := range g.Reads {
		add(r.Ref.Scope)
	}
	for _, ev := range slices.Concat(g.Events, g.Redacts) {
		add(ev.Scope)
	}
	return scopes
}
