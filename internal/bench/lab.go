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

// lab measures a goal: for how long, with how much data, and on which cluster. Every error
// ends the test.
type lab struct {
	testing.TB
	goal string // that is being measured

	rounds  int
	length  time.Duration // of the measured part of a round
	short   bool          // short rounds: contenders stay open from round to round, and databases until the end
	callers int           // callers of a stampede
	names   int           // how many names the size is measured with
	lapsed  int           // holds to be swept
	imports int           // names to be imported
	asks    int           // how often each read of the API is asked
	ends    bool          // curves are measured only at their ends
	delay   time.Duration // by which answers of PostgreSQL come later

	cluster *pgtest.Cluster
	admin   *pgxpool.Pool // on the cluster's own database
	pools   pools         // shared by all goals
	profile *profile      // nil if none is wanted
	program string        // the command line, for servers in processes of their own
}

// durable are the settings of a cluster that keeps commits when the power fails, with as
// much memory as a small server in production.
var durable = pgtest.Options{Settings: map[string]string{
	"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "shared_buffers": "256MB", "max_wal_size": "4GB",
}}

// connect connects the lab to a cluster.
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

// version returns the version of PostgreSQL, without that of its package.
func (l *lab) version() string {
	l.Helper()
	var version string
	l.must(l.admin.QueryRow(l.Context(), "SHOW server_version").Scan(&version))
	version, _, _ = strings.Cut(version, " ")
	return version
}

// newDatabase returns the DSN of an empty database. Every round has its own, so that both
// sides begin small and neither pays for the other's data.
func (l *lab) newDatabase() (dsn string, drop func()) {
	l.Helper()
	dsn = l.cluster.NewDatabase(l)
	if l.short { // it ends with the cluster
		return dsn, func() {}
	}
	return dsn, func() { l.exec("DROP DATABASE " + l.databaseOf(dsn) + " WITH (FORCE)") }
}

func (l *lab) databaseOf(dsn string) string {
	l.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	l.must(err)
	return cfg.Database
}

// calm finishes the work of earlier measurements. That includes a checkpoint: the first
// change to a page after one costs more, and both sides should pay the same. Short rounds
// skip it, because it would dominate them.
func (l *lab) calm() {
	l.Helper()
	if !l.short {
		l.exec("CHECKPOINT")
	}
	runtime.GC()
}

// takeTurns runs rounds in which each side is measured in turn, and returns the readings of
// each side.
func (l *lab) takeTurns(sides ...func() reading) []series {
	all := make([]series, len(sides))
	for range l.rounds {
		for i, turn := range sides {
			all[i].add(turn())
		}
	}
	return all
}

// compare measures two contenders in turns.
func (l *lab) compare(ours, peer func(*lab) contender, measure func(contender) reading) (series, series) {
	l.Helper()
	all := l.takeTurns(l.turn(ours, measure), l.turn(peer, measure))
	return all[0], all[1]
}

// turn returns a function that measures a contender: opened anew each time, unless rounds are short.
func (l *lab) turn(open func(*lab) contender, measure func(contender) reading) func() reading {
	l.Helper()
	if l.short {
		c := open(l)
		l.Cleanup(c.close)
		return func() reading { return measure(c) }
	}
	return func() reading {
		c := open(l)
		defer c.close()
		return measure(c)
	}
}
