//go:build unix

package bench

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/calldibs/dibs/internal/figures"
	"github.com/calldibs/dibs/internal/pgtest"
)

// The peers on PostgreSQL that have a pool of connections.
const (
	bareTable = "bare table"
	byHand    = "same work"
)

// pools has the number of connections with which each peer is fastest, once it is known.
type pools map[string]int

// poolsOf returns pools of one size. Zero means unknown.
func poolsOf(size int) pools {
	if size == 0 {
		return make(pools)
	}
	return pools{bareTable: size, byHand: size}
}

// poolSizes are tried to find the best size.
var poolSizes = []int{8, 16, 32, 64}

// bestPool returns the number of connections with which a peer is fastest under many callers.
// It is measured once for all goals.
func (l *lab) bestPool(peer string, open func(l *lab, connections int) contender) int {
	l.Helper()
	if l.pools[peer] == 0 {
		l.pools[peer] = l.findBestPool(peer, open)
	}
	return l.pools[peer]
}

func (l *lab) findBestPool(peer string, open func(l *lab, connections int) contender) int {
	l.Helper()
	short := l.in(l.TB)
	short.length, short.rounds, short.profile = l.length/3, min(l.rounds, 2), nil
	var sides []func() reading
	for _, size := range poolSizes {
		sides = append(sides, short.turn(func(l *lab) contender { return open(l, size) }, short.reserveRate))
	}
	best, bestRate := 0, 0.0
	for i, rates := range short.takeTurns(sides...) {
		if rate := rates.figures.Median(); rate > bestRate {
			best, bestRate = poolSizes[i], rate
		}
	}
	l.Logf("%s is fastest with %d connections: %s", peer, best, figures.PerSecond.Format(bestRate))
	return best
}

// database is a new database on the cluster with a pool of connections, for a peer.
type database struct {
	*pgxpool.Pool
	cluster *pgtest.Cluster
	drop    func()
}

// openDatabase creates the database and its tables.
func (l *lab) openDatabase(connections int, schema string) *database {
	l.Helper()
	dsn, drop := l.newDatabase()
	cfg, err := pgxpool.ParseConfig(l.delayed(dsn))
	l.must(err)
	cfg.MaxConns = int32(connections)
	pool, err := pgxpool.NewWithConfig(l.Context(), cfg)
	l.must(err)
	_, err = pool.Exec(l.Context(), schema)
	l.must(err)
	return &database{Pool: pool, cluster: l.cluster, drop: drop}
}

func (d *database) processes() []int { return d.cluster.Processes() }

func (d *database) close() {
	d.Close()
	d.drop()
}
