package storetest

import (
	"slices"

	"github.com/calldibs/dibs"
)

func brokenForgetting() []broken {
	renewing := func(change func(w *dibs.Write)) bend {
		return committing(func(g *dibs.Group) {
			for i := range g.Writes {
				if g.Writes[i].Renew {
					change(&g.Writes[i])
				}
			}
		})
	}
	redacting := func(change func(g *dibs.Group)) bend {
		return committing(func(g *dibs.Group) {
			if len(g.Redacts) > 0 {
				change(g)
			}
		})
	}
	return []broken{
		{must: "commit-renew", how: "keeps the events", bend: renewing(func(w *dibs.Write) { w.Renew = false })},
		{must: "commit-renew", how: "keeps no record", bend: renewing(func(w *dibs.Write) { w.Renew, w.Delete = false, true })},
		{must: "commit-renew", how: "loses what the group tells", bend: committing(func(g *dibs.Group) {
			if slices.ContainsFunc(g.Writes, func(w dibs.Write) bool { return w.Renew }) {
				g.Events = nil
			}
		})},
		{must: "commit-redact", how: "redacts nothing", bend: redacting(func(g *dibs.Group) { g.Redacts = nil })},
		{must: "commit-redact", how: "redacts the first one only", bend: redacting(func(g *dibs.Group) { g.Redacts = g.Redacts[:1] })},
		{must: "commit-redact", how: "tells it once more instead", bend: redacting(func(g *dibs.Group) {
			g.Events, g.Redacts = append(g.Events, g.Redacts...), nil
		})},
	}
}
