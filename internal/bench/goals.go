//go:build unix

package bench

// goal is a promise, and the function that measures it. The rows that measure returns have
// the promised figures.
type goal struct {
	id      string
	measure func(*lab) []row
}

// goals are all goals, in the order in which they are measured.
var goals = []goal{
	{"S1", reserveOnPostgres},
	{"S2", pairsOnPostgres},
	{"S3", reserveBesideRedis},
	{"S4", reserveOnSQLite},
	{"S5", loneReserve},
	{"S6", stampede},
	{"S7", resolveOverHTTP},
	{"S8", reserveOverHTTP},
	{"S9", reserveOnEtcd},
	{"S10", cachedReads},
	{"S11", importNames},
	{"G3", bytesPerName},
	{"G4", sweepLapsedHolds},
}

// run measures a goal and adds its id to each row.
func (g goal) run(l *lab) []row {
	l.Helper()
	l.goal = g.id
	rows := g.measure(l)
	for i := range rows {
		rows[i].goal = g.id
	}
	return rows
}
