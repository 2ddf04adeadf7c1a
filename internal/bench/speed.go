//go:build unix

package bench

// manyCallers is the number of callers of the goals.
const manyCallers = 256

// reserveOnPostgres is S1: many callers reserve different names.
func reserveOnPostgres(l *lab) []row {
	ours, peer := l.compare(dibsOnPostgres, plainOnPostgres, l.reserveRate)
	return []row{{what: "reserve on PostgreSQL, 256 callers", unit: perSecond, ours: ours, peer: peer, want: atLeast(3)}}
}

// pairsOnPostgres is S2: many callers reserve and confirm different names.
func pairsOnPostgres(l *lab) []row {
	ours, peer := l.compare(dibsOnPostgres, plainOnPostgres, func(c contender) float64 {
		return l.load(c, manyCallers, c.(confirmer).pair).rate()
	})
	return []row{{what: "reserve + confirm on PostgreSQL, 256 callers", unit: perSecond, ours: ours, peer: peer, want: atLeast(2.5)}}
}

// reserveBesideRedis is S3: an embedded file against locks in Redis with the same durability.
func reserveBesideRedis(l *lab) []row {
	ours, peer := l.compare(dibsOnSQLite, redisLocks, l.reserveRate)
	return []row{{what: "reserve on SQLite, 256 callers; peer: Redis SET NX PX, appendfsync always", unit: perSecond, ours: ours, peer: peer, want: atLeast(1)}}
}

// reserveOnSQLite is S4: an embedded file against a database server's plain table.
func reserveOnSQLite(l *lab) []row {
	ours, peer := l.compare(dibsOnSQLite, plainOnPostgres, l.reserveRate)
	return []row{{what: "reserve on SQLite, 256 callers; peer on PostgreSQL", unit: perSecond, ours: ours, peer: peer, want: atLeast(2)}}
}

// loneReserve is S5: a lone caller shares its commits with no other caller, and should not
// pay for batching.
func loneReserve(l *lab) []row {
	latency := func(c contender) float64 { return l.load(c, 1, reserveFree(c)).percentile(50) }
	lonePlain := func(l *lab) contender { return openPlain(l, 1) }
	onPostgres, plainPostgres := l.compare(dibsOnPostgres, lonePlain, latency)
	onSQLite, plainSQLite := l.compare(dibsOnSQLite, plainOnSQLite, latency)
	return []row{
		{what: "lone reserve on PostgreSQL, median", unit: seconds, ours: onPostgres, peer: plainPostgres, want: atMost(1.3)},
		{what: "lone reserve on SQLite, median", unit: seconds, ours: onSQLite, peer: plainSQLite, want: atMost(1.3)},
	}
}

func (l *lab) reserveRate(c contender) float64 {
	l.Helper()
	return l.load(c, manyCallers, reserveFree(c)).rate()
}
