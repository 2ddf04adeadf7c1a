//go:build unix

package bench

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/calldibs/dibs/internal/pgtest"
)

// lab is where a goal is measured: how long, how much, and on which cluster. Whatever
// goes wrong in it ends the test.
type lab struct {
	testing.TB
	goal string // that is being measured

	rounds int
	length time.Duration // of the measured part of a round
	hurry  bool          // contenders stay open from round to round, for rounds that are short
	crowd  int           // callers of a stampede
	names  int           // of which the size is measured
	lapsed int           // holds to be swept

	cluster *pgtest.Cluster
	admin   *pgxpool.Pool // on the cluster's own database
	pool    *int          // connections of the plain table's pool, 0 until the best is known
	profile *profile      // nil: none is wanted
}

// durable are the settings of a cluster that keeps its promises when the power fails,
// with as much memory as a small one has in production.
var durable = pgtest.Options{Settings: map[string]string{
	"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "shared_buffers": "256MB", "max_wal_size": "4GB",
}}

// connect gives the lab its cluster.
func (l *lab) connect(cluster *pgtest.Cluster) {
	l.Helper()
	admin, err := pgxpool.New(l.Context(), cluster.DSN("postgres"))
	l.must(err)
	l.Cleanup(admin.Close)
	l.cluster, l.admin = cluster, admin
}

// in returns the same lab for another test.
func (l *lab) in(tb testing.TB) *lab {
	other := *l
	other.TB = tb
	return &other
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// exec runs a statement on the cluster.
func (l *lab) exec(statement string) {
	l.Helper()
	_, err := l.admin.Exec(context.Background(), statement)
	l.must(err)
}

// version returns PostgreSQL's, without its package's.
func (l *lab) version() string {
	l.Helper()
	var version string
	l.must(l.admin.QueryRow(l.Context(), "SHOW server_version").Scan(&version))
	version, _, _ = strings.Cut(version, " ")
	return version
}

// newDatabase returns the DSN of an empty database. Every round has its own, so that
// both sides begin small and none pays for what the other has left.
func (l *lab) newDatabase() (dsn string, drop func()) {
	l.Helper()
	dsn = l.cluster.NewDatabase(l)
	return dsn, func() { l.exec("DROP DATABASE " + l.databaseOf(dsn) + " WITH (FORCE)") }
}

func (l *lab) databaseOf(dsn string) string {
	l.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	l.must(err)
	return cfg.Database
}

// calm lets a measurement begin with nothing left to be done by the one before it. A
// checkpoint is part of it: the first change to a page after one costs more, and both
// sides should pay for that alike. In a round that is short nothing else would count.
func (l *lab) calm() {
	l.Helper()
	if !l.hurry {
		l.exec("CHECKPOINT")
	}
	runtime.GC()
}

// takeTurns runs rounds, in which each side has its turn, and returns what each side's
// turns gave.
func (l *lab) takeTurns(sides ...func() float64) []sample {
	samples := make([]sample, len(sides))
	for range l.rounds {
		for i, turn := range sides {
			samples[i] = append(samples[i], turn())
		}
	}
	return samples
}

// compare measures two contenders in turns.
func (l *lab) compare(ours, peer func(*lab) contender, measure func(contender) float64) (sample, sample) {
	l.Helper()
	samples := l.takeTurns(l.turn(ours, measure), l.turn(peer, measure))
	return samples[0], samples[1]
}

// turn returns how a contender is measured: opened afresh every time, unless in a hurry.
func (l *lab) turn(open func(*lab) contender, measure func(contender) float64) func() float64 {
	l.Helper()
	if l.hurry {
		c := open(l)
		l.Cleanup(c.close)
		return func() float64 { return measure(c) }
	}
	return func() float64 {
		c := open(l)
		defer c.close()
		return measure(c)
	}
}
