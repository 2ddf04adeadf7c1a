package main

import (
	"strings"

	"github.com/calldibs/dibs/internal/figures"
)

// planning are the figures that a user plans with, by the beginnings of their names.
var planning = []string{
	"lone reserve on SQLite", "lone reserve on PostgreSQL",
	"reserve on SQLite, 256 callers", "reserve on PostgreSQL, 256 callers", "reserve on etcd",
	"reserve over HTTP", "resolve over HTTP", "the same from the cache",
	"bytes per name on SQLite", "bytes per name on PostgreSQL, after load",
	"import of ", "memory of an import",
}

// shortTable has the figures that a user plans with, each beside the first peer that it was measured with.
func shortTable(results []figures.Result) string {
	t := new(table)
	t.head("what", "Dibs", "beside it", "")
	for _, name := range planning {
		for _, r := range results {
			if !strings.HasPrefix(r.What, name) {
				continue
			}
			peer := ""
			if r.Peer != nil {
				peer = r.Unit.Format(r.Peer.Median)
			}
			t.row(r.What, r.Unit.Format(r.Ours.Median), r.Against, peer)
			break
		}
	}
	return t.String()
}
