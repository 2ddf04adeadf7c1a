//go:build unix

package bench

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs"
)

// limit is what the engine takes: rows of the same bytes as those of Dibs, in bulk.
var limit = peer{
	is:    "limit of the engine",
	lacks: "everything: rows of as many bytes, 128 at a time on two connections, nothing decided, nothing answered to a caller",
}

const (
	bulkRows        = 128
	bulkConnections = 2
)

// bulkTable takes rows in bulk. A call of reserve or pair writes bulkRows of them.
type bulkTable struct {
	*database
	size int // of a row without its key
}

func bulkOnPostgres(l *lab) contender {
	l.Helper()
	const schema = "CREATE TABLE bulk (id BYTEA PRIMARY KEY, rest BYTEA NOT NULL)"
	return &bulkTable{l.openDatabase(bulkConnections, schema), l.restOfRow()}
}

// restOfRow returns how many bytes a row must have besides its key and the overhead of a
// row, so that it takes the space of everything that Dibs stores for a reservation, without
// indexes.
func (l *lab) restOfRow() int {
	l.Helper()
	r := openOnPostgres(l, dibs.Config{})
	defer r.close()
	const names, overhead = 2000, 28 + 8 + 16
	l.work(fillers, times(names), reserveFree(r))
	conn, err := pgx.Connect(l.Context(), r.where)
	l.must(err)
	defer func() { _ = conn.Close(l.Context()) }() // nothing is left to be sent
	var size int
	l.must(conn.QueryRow(l.Context(), `
		SELECT sum(pg_relation_size(c.oid))::bigint
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'dibs' AND c.relkind = 'r'`).Scan(&size))
	return max(size/names-overhead, 1)
}

func (t *bulkTable) reserve(string) (bool, error) {
	_, _, err := t.insert()
	return err == nil, err
}

func (t *bulkTable) pair(string) error {
	ids, rows, err := t.insert()
	if err != nil {
		return err
	}
	_, err = t.Exec(context.Background(),
		"UPDATE bulk SET rest = new.rest FROM unnest($1::bytea[], $2::bytea[]) AS new (id, rest) WHERE bulk.id = new.id", ids, rows)
	return err
}

func (t *bulkTable) insert() (ids, rows [][]byte, err error) {
	for range bulkRows {
		row := make([]byte, 16+t.size)
		binary.LittleEndian.PutUint64(row, rand.Uint64())
		binary.LittleEndian.PutUint64(row[8:], rand.Uint64())
		ids, rows = append(ids, row[:16]), append(rows, row[16:])
	}
	_, err = t.Exec(context.Background(), "INSERT INTO bulk SELECT * FROM unnest($1::bytea[], $2::bytea[])", ids, rows)
	return ids, rows, err
}

// inRows makes a reading of batches one of rows.
func inRows(r reading) reading { return reading{r.figure * bulkRows, r.processor / bulkRows} }
