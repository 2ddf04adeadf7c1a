//go:build unix

package bench

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/internal/figures"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/sqlitestore"
)

// estate is a store with many names that stays from run to run, and a small one beside it.
type estate struct {
	engine string // for people
	kept   string // the file that says how far the load has come

	big, small string // where the stores are: paths or DSNs
	// copySmall returns a copy of the small store, so that each round begins with as many names.
	copySmall func(l *lab) (where string, remove func())
	open      func(ctx context.Context, where string) (dibs.Store, error)
	size      func(l *lab) float64 // of the big store, in bytes
	processes func() []int
	address   func(where string) string // for dibs serve --store
}

// smallShare is the size of the small store: 100,000 names beside ten million.
const smallShare = 100

// growthGoal is a goal that is measured on an estate.
type growthGoal struct {
	id      string
	measure func(*lab, *estate) []row
}

var growthGoals = []growthGoal{
	{"G1", reserveAtSize},
	{"G2", memoryAtSize},
	{"G3", bytesAtSize},
	{"G5", startAtSize},
	{"G6", readsAtSize},
	{"G7", churn},
	{"G8", backupAtSize},
}

// sqliteEstate is in files of a folder.
func sqliteEstate(l *lab, folder string) *estate {
	l.Helper()
	e := &estate{
		engine: "SQLite", kept: filepath.Join(folder, "sqlite.json"),
		big: filepath.Join(folder, "big.db"), small: filepath.Join(folder, "small.db"),
		open: func(ctx context.Context, where string) (dibs.Store, error) {
			return sqlitestore.Open(ctx, where, sqlitestore.Config{})
		},
		processes: func() []int { return nil },
		address:   func(where string) string { return "sqlite:" + where },
	}
	e.size = func(l *lab) float64 {
		info, err := os.Stat(e.big)
		l.must(err)
		return float64(info.Size())
	}
	e.copySmall = func(l *lab) (string, func()) {
		l.Helper()
		where := filepath.Join(folder, "round.db")
		l.must(copyFile(e.small, where))
		return where, func() {
			for _, suffix := range []string{"", "-wal", "-shm"} {
				_ = os.Remove(where + suffix)
			}
		}
	}
	return e
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

// postgresEstate is in databases of the lab's cluster, which stays too.
func postgresEstate(l *lab, folder string) *estate {
	l.Helper()
	e := &estate{
		engine: "PostgreSQL", kept: filepath.Join(folder, "postgres.json"),
		big: l.cluster.DSN("big"), small: l.cluster.DSN("small"),
		open: func(ctx context.Context, where string) (dibs.Store, error) {
			return pgstore.Open(ctx, where, pgstore.Config{})
		},
		processes: l.cluster.Processes,
		address:   func(where string) string { return where },
	}
	for _, database := range []string{"big", "small"} {
		l.createDatabase(database)
	}
	e.size = func(l *lab) float64 { return l.sizeOfSchema(e.big) }
	e.copySmall = func(l *lab) (string, func()) {
		l.Helper()
		const database = "round"
		l.exec("DROP DATABASE IF EXISTS " + database + " WITH (FORCE)")
		l.exec("CREATE DATABASE " + database + " TEMPLATE small")
		return l.cluster.DSN(database), func() { l.exec("DROP DATABASE " + database + " WITH (FORCE)") }
	}
	return e
}

// createDatabase creates a database that stays, unless it is there.
func (l *lab) createDatabase(name string) {
	l.Helper()
	var there bool
	l.must(l.admin.QueryRow(l.Context(), "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there))
	if !there {
		l.exec("CREATE DATABASE " + name)
	}
}

// sizeOfSchema returns the bytes of Dibs's tables and indexes in a database.
func (l *lab) sizeOfSchema(dsn string) float64 {
	l.Helper()
	conn, err := pgx.Connect(l.Context(), dsn)
	l.must(err)
	defer func() { _ = conn.Close(l.Context()) }() // nothing is left to be sent
	var size int64
	l.must(conn.QueryRow(l.Context(), `
		SELECT sum(pg_total_relation_size(c.oid))::bigint
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'dibs' AND c.relkind IN ('r', 'm')`).Scan(&size))
	return float64(size)
}

// openAt opens a registry as a program with the default settings does.
func (e *estate) openAt(l *lab, where string, cfg dibs.Config) *registry {
	l.Helper()
	store, err := e.open(l.Context(), where)
	l.must(err)
	return e.openOver(l, store, where, cfg)
}

func (e *estate) openOver(l *lab, store dibs.Store, where string, cfg dibs.Config) *registry {
	l.Helper()
	reg, err := embedded.Open(store, cfg)
	l.must(err)
	return &registry{Registry: reg, where: where, l: l, remove: func() {}, engine: e.processes}
}

// reserveNew returns a function that reserves names that no run has used.
func reserveNew(c contender) func(name string) error {
	run, reserve := fmt.Sprintf("run-%08x-", rand.Uint32()), reserveFree(c)
	return func(name string) error { return reserve(run + name) }
}

// reserveAtSize is G1: the rate with many names, and with few in the same round.
func reserveAtSize(l *lab, e *estate) []row {
	var logged, loggedSmall sample
	rate := func(r *registry, logged *sample) reading {
		defer r.close()
		before := e.logged(l)
		done := l.load(r, manyCallers, reserveNew(r))
		*logged = append(*logged, (e.logged(l)-before)/(done.rate()*done.took.Seconds()*(1+warmUpShare)))
		return done.perSecond()
	}
	all := l.takeTurns(
		func() reading { return rate(e.openAt(l, e.big, dibs.Config{}), &logged) },
		func() reading {
			where, remove := e.copySmall(l)
			defer remove()
			return rate(e.openAt(l, where, dibs.Config{}), &loggedSmall)
		})
	few := peer{is: figures.Thousands(float64(max(l.names/smallShare, 1))) + " names"}
	want := map[string]float64{"SQLite": 0.7, "PostgreSQL": 0.85}[e.engine]
	rows := []row{{what: "reserve on " + e.engine + ", 256 callers", unit: figures.PerSecond, ours: all[0], against: few, peer: all[1], want: atLeast(want)}}
	if logged.Median() > 0 {
		rows = append(rows, row{what: "log per reserve on " + e.engine, unit: figures.Bytes, ours: figuresOf(logged...), against: few, peer: figuresOf(loggedSmall...)})
	}
	return rows
}

// logged returns how many bytes the engine has written to its log since it was created; zero
// where it is not measured. The log of a round contains that of the warm-up before it.
func (e *estate) logged(l *lab) (bytes float64) {
	l.Helper()
	if e.engine == "PostgreSQL" {
		l.must(l.admin.QueryRow(l.Context(), "SELECT (pg_current_wal_insert_lsn() - '0/0')::float8").Scan(&bytes))
	}
	return bytes
}

// bytesAtSize is G3: what a claimed name takes on disk, as it lies.
func bytesAtSize(l *lab, e *estate) []row {
	want := map[string]float64{"SQLite": 600, "PostgreSQL": 1000}[e.engine]
	return []row{{what: "bytes per claimed name on " + e.engine, unit: figures.Bytes, ours: figuresOf(e.size(l) / float64(l.names)), want: atMost(want)}}
}
