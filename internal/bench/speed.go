//go:build unix

package bench

import "github.com/calldibs/dibs/internal/figures"

// manyCallers is the number of callers of the goals.
const manyCallers = 256

// against is a peer with what it does, and what our figure must reach beside it.
type against struct {
	peer
	open    func(*lab) contender
	measure func(contender) reading
	want    target
}

// reserveOnPostgres is S1: many callers reserve different names.
func reserveOnPostgres(l *lab) []row {
	return l.besidePeers("reserve on PostgreSQL, 256 callers", l.reserveRate,
		against{bare, plainOnPostgres, l.reserveRate, atLeast(3)},
		against{sameWork, handOnPostgres, l.reserveRate, atLeast(5)},
		against{sameWorkInOne, statementOnPostgres, l.reserveRate, target{}},
		against{limit, bulkOnPostgres, func(c contender) reading {
			return inRows(l.load(c, bulkConnections, reserveFree(c)).perSecond())
		}, atLeast(0.5)})
}

// pairsOnPostgres is S2: many callers reserve and confirm different names.
func pairsOnPostgres(l *lab) []row {
	pairRate := func(c contender) reading { return l.load(c, manyCallers, c.(confirmer).pair).perSecond() }
	return l.besidePeers("reserve + confirm on PostgreSQL, 256 callers", pairRate,
		against{bare, plainOnPostgres, pairRate, atLeast(2.5)},
		against{sameWork, handOnPostgres, pairRate, atLeast(5)},
		against{limit, bulkOnPostgres, func(c contender) reading {
			return inRows(l.load(c, bulkConnections, c.(confirmer).pair).perSecond())
		}, target{}})
}

// besidePeers measures Dibs on PostgreSQL and its peers in turns. Short rounds have only the
// first peer.
func (l *lab) besidePeers(what string, ours func(contender) reading, peers ...against) []row {
	l.Helper()
	if l.short {
		peers = peers[:1]
	}
	sides := []func() reading{l.turn(dibsOnPostgres, ours)}
	for _, p := range peers {
		sides = append(sides, l.turn(p.open, p.measure))
	}
	all := l.takeTurns(sides...)
	rows := make([]row, len(peers))
	for i, p := range peers {
		rows[i] = row{what: what, unit: figures.PerSecond, ours: all[0], against: p.peer, peer: all[i+1], want: p.want}
	}
	return rows
}

// reserveBesideRedis is S3: an embedded file against locks in Redis with the same durability.
func reserveBesideRedis(l *lab) []row {
	ours, peer := l.compare(dibsOnSQLite, redisLocks, l.reserveRate)
	return []row{{what: "reserve on SQLite, 256 callers", unit: figures.PerSecond, ours: ours, against: redisLock, peer: peer, want: atLeast(1)}}
}

// reserveOnSQLite is S4: an embedded file against a database server's plain table.
func reserveOnSQLite(l *lab) []row {
	ours, peer := l.compare(dibsOnSQLite, plainOnPostgres, l.reserveRate)
	return []row{{what: "reserve on SQLite, 256 callers", unit: figures.PerSecond, ours: ours, against: bareElsewhere, peer: peer, want: atLeast(2)}}
}

// bareElsewhere is the bare statement where our side is on another engine.
var bareElsewhere = peer{is: bare.is + " on PostgreSQL", lacks: bare.lacks}

// loneReserve is S5: a lone caller shares its commits with no other caller, and should not
// pay for batching.
func loneReserve(l *lab) []row {
	latency := func(c contender) reading {
		done := l.load(c, 1, reserveFree(c))
		return reading{done.percentile(50), done.processor}
	}
	lonePlain := func(l *lab) contender { return openPlain(l, 1) }
	onPostgres, plainPostgres := l.compare(dibsOnPostgres, lonePlain, latency)
	onSQLite, plainSQLite := l.compare(dibsOnSQLite, plainOnSQLite, latency)
	return []row{
		{what: "lone reserve on PostgreSQL, median", unit: figures.Seconds, ours: onPostgres, against: bare, peer: plainPostgres, want: atMost(1.3)},
		{what: "lone reserve on SQLite, median", unit: figures.Seconds, ours: onSQLite, against: bare, peer: plainSQLite, want: atMost(1.3)},
	}
}

func (l *lab) reserveRate(c contender) reading {
	l.Helper()
	return l.load(c, manyCallers, reserveFree(c)).perSecond()
}
