package storetest

import "github.com/calldibs/dibs"

// ListQueries returns queries for pages of names by every combination of filters, in the states that lists
// of a registry ask for. An engine's test of its plans runs them on a large store, which has at least limit
// names from "name-8" to "name-f" in each state and in each namespace; the first one is queried most.
func ListQueries(limit int, namespace string, others ...string) (list []dibs.ListQuery) {
	after := &dibs.ListPosition{Namespace: namespace, Label: "name-8"}
	filters := []dibs.ListQuery{
		{},
		{After: after},
		{Namespace: namespace},
		{Namespace: namespace, After: after},
		{From: "name-3", To: "name-f"},
		{From: "name-3", To: "name-f", After: after},
		{Namespace: namespace, From: "name-3", To: "name-f", After: after},
	}
	for _, other := range others {
		filters = append(filters, dibs.ListQuery{Namespace: other})
	}
	for _, query := range filters {
		for _, query.States = range [][]dibs.State{
			nil,
			{dibs.Active},
			{dibs.Held},
			{dibs.Alias},
			{dibs.Suspect},
			{dibs.Quarantined},
			{dibs.Free},
			{dibs.Suspect, dibs.Held},
			{dibs.Free, dibs.Held, dibs.Alias, dibs.Quarantined},
		} {
			query.Kind, query.Limit = dibs.KindName, limit
			list = append(list, query)
		}
	}
	return list
}
