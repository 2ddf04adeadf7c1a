//go:build unix

package bench

// goal is a promise, and the function that finds out whether it is kept. What it
// promises in figures is in the rows that measure returns.
type goal struct {
	id      string
	measure func(*lab) []row
}

// goals are all that there are, in the order in which they are run.
var goals = []goal{
	{"S1", reserveOnPostgres},
	{"S2", pairsOnPostgres},
	{"S4", reserveOnSQLite},
	{"S5", loneReserve},
	{"S6", stampede},
	{"S7", resolveOverHTTP},
	{"S8", reserveOverHTTP},
	{"S9", reserveOnEtcd},
	{"S10", cachedReads},
	{"G3", bytesPerName},
	{"G4", sweepLapsedHolds},
}

// run measures a goal and says in each of its rows whose it is.
func (g goal) run(l *lab) []row {
	l.Helper()
	l.goal = g.id
	rows := g.measure(l)
	for i := range rows {
		rows[i].goal = g.id
	}
	return rows
}
