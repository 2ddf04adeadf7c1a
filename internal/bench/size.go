//go:build unix

package bench

import (
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs/internal/figures"
)

// fillers is how many callers fill a registry: enough for batches of a usual size.
const fillers = 64

// bytesPerName is G3: the size of a confirmed name on disk, with its entity, its two events
// and all indexes. A size has no rounds.
func bytesPerName(l *lab) []row {
	afterLoad, rewritten := l.sizeOnPostgres()
	return []row{
		{what: "bytes per name on PostgreSQL, after load", unit: figures.Bytes, ours: figuresOf(afterLoad), want: atMost(1000)},
		{what: "bytes per name on PostgreSQL, after VACUUM FULL", unit: figures.Bytes, ours: figuresOf(rewritten)},
		{what: "bytes per name on SQLite", unit: figures.Bytes, ours: figuresOf(l.sizeOnSQLite()), want: atMost(600)},
	}
}

// sizeOnPostgres returns the size after load, with dead rows and half-filled pages, as users
// see it; and the size of the same rows after a rewrite.
func (l *lab) sizeOnPostgres() (afterLoad, rewritten float64) {
	l.Helper()
	r := dibsOnPostgres(l).(*registry)
	defer r.close()
	l.profiled(r, func() { l.work(fillers, times(l.names), r.pair) })

	conn, err := pgx.Connect(l.Context(), r.where)
	l.must(err)
	defer func() { _ = conn.Close(l.Context()) }() // nothing is left to be sent
	afterLoad = l.sizeOfSchema(r.where) / float64(l.names)
	_, err = conn.Exec(l.Context(), "VACUUM FULL")
	l.must(err)
	return afterLoad, l.sizeOfSchema(r.where) / float64(l.names)
}

// sizeOnSQLite returns the size of the file after it is closed. The write-ahead log is not
// included: its size does not depend on the number of names.
func (l *lab) sizeOnSQLite() float64 {
	l.Helper()
	r := dibsOnSQLite(l).(*registry)
	defer r.remove()
	l.profiled(r, func() { l.work(fillers, times(l.names), r.pair) })
	l.must(r.Close())
	file, err := os.Stat(r.where)
	l.must(err)
	return float64(file.Size()) / float64(l.names)
}
