package storetest

import (
	"slices"

	"github.com/calldibs/dibs"
)

func brokenForgetting() []broken {
	renewing := func(change func(w *dibs.Write)) breakage {
		return committing(func(g *dibs.Group) {
			for i := range g.Writes {
				if g.Writes[i].Renew {
					change(&g.Writes[i])
				}
			}
		})
	}
	redacting := func(change func(g *dibs.Group)) breakage {
		return committing(func(g *dibs.Group) {
			if len(g.Redacts) > 0 {
				change(g)
			}
		})
	}
	return []broken{
		{must: "commit-renew", how: "keeps the events", apply: renewing(func(w *dibs.Write) { w.Renew = false })},
		{must: "commit-renew", how: "deletes the record", apply: renewing(func(w *dibs.Write) { w.Renew, w.Delete = false, true })},
		{must: "commit-renew", how: "loses the events of the group", apply: committing(func(g *dibs.Group) {
			if slices.ContainsFunc(g.Writes, func(w dibs.Write) bool { return w.Renew }) {
				g.Events = nil
			}
		})},
		{must: "commit-redact", how: "redacts nothing", apply: redacting(func(g *dibs.Group) { g.Redacts = nil })},
		{must: "commit-redact", how: "redacts only the first event", apply: redacting(func(g *dibs.Group) { g.Redacts = g.Redacts[:1] })},
		{must: "commit-redact", how: "appends the redacted event again", apply: redacting(func(g *dibs.Group) {
			g.Events, g.Redacts = append(g.Events, g.Redacts...), nil
		})},
	}
}
