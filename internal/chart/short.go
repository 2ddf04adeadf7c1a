package main

import (
	"fmt"
	"strings"

	"github.com/calldibs/dibs/internal/figures"
)

// planning are the figures that a user plans with, by the beginnings of their names: of a store with few names, and of one with many.
var (
	planning = []string{
		"reserve on PostgreSQL, 256 callers", "reserve on SQLite, 256 callers", "reserve on etcd",
		"reserve over HTTP", "resolve over HTTP", "the same from the cache",
		"lone reserve on SQLite", "lone reserve on PostgreSQL",
		"import of ", "memory of an import",
	}
	planningMany = []string{
		"reserve on PostgreSQL, 256 callers", "reserve on SQLite, 256 callers",
		"resolve on PostgreSQL, p99", "resolve on SQLite, p99", "list by prefix on PostgreSQL, p99", "list by prefix on SQLite, p99",
		"resident memory of a server on PostgreSQL", "resident memory of a server on SQLite",
	}
)

// shortTable has the figures whose names begin so, each beside the first peer that it was measured with.
func shortTable(results []figures.Result, names []string) (string, error) {
	t := new(table)
	t.head("what", "Dibs", "beside it", "")
	for _, name := range names {
		r, ok := named(results, name)
		if !ok {
			return "", fmt.Errorf("no run measured %q", name)
		}
		peer := ""
		if r.Peer != nil {
			peer = r.Unit.Format(r.Peer.Median)
		}
		t.row(r.What, r.Unit.Format(r.Ours.Median), r.Against, peer)
	}
	return t.String(), nil
}

// named returns the first figure whose name begins so.
func named(results []figures.Result, beginning string) (figures.Result, bool) {
	for _, r := range results {
		if strings.HasPrefix(r.What, beginning) {
			return r, true
		}
	}
	return figures.Result{}, false
}

// bytesTable has the size of a name on disk, by the way in which it was made.
func bytesTable(speed, growth figures.Run) (string, error) {
	t := new(table)
	t.head("engine", "claimed, at "+figures.Thousands(float64(growth.Names))+" names", "reserved and confirmed, by many callers", "the same, after `VACUUM FULL`")
	for _, engine := range []string{"SQLite", "PostgreSQL"} {
		claimed, found := named(growth.Results, "bytes per claimed name on "+engine)
		confirmed, foundToo := named(speed.Results, "bytes per name on "+engine)
		if !found || !foundToo {
			return "", fmt.Errorf("no run measured the bytes of a name on %s", engine)
		}
		rewritten := ""
		if r, ok := named(speed.Results, "bytes per name on "+engine+", after VACUUM FULL"); ok {
			rewritten = r.Unit.Format(r.Ours.Median)
		}
		t.row(engine, claimed.Unit.Format(claimed.Ours.Median), confirmed.Unit.Format(confirmed.Ours.Median), rewritten)
	}
	return t.String(), nil
}
