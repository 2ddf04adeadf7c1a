package engine

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
)

// maxConnections is the maximum number of connections to a database of the user.
const maxConnections = 2

// OpenDatabase opens a database of the user, for reading. Its address is like that of a store:
// "sqlite:orders.db" or "postgres://user:password@host/database". It connects at the first query,
// and does not create a missing file.
//
// No error contains a password.
func OpenDatabase(address string) (*sql.DB, error) {
	if err := CheckDatabase(address); err != nil {
		return nil, err
	}
	var db *sql.DB
	var err error
	if path, isFile := strings.CutPrefix(address, "sqlite:"); isFile {
		db, err = openFile(path)
	} else {
		db, err = openPostgres(address)
	}
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(maxConnections)
	db.SetMaxIdleConns(1)
	return db, nil
}

// CheckDatabase returns an error if OpenDatabase cannot use an address.
func CheckDatabase(address string) error {
	scheme, _, _ := strings.Cut(address, ":")
	if scheme == "mem" || scheme == "etcd" {
		return fmt.Errorf("%s: is not an SQL database: use sqlite:orders.db or postgres://user@host/database", scheme)
	}
	return Check(address)
}

// openFile opens an existing SQLite file. The mode is rw, because after a crash SQLite must undo the
// last transaction before it can read. query_only prevents other writes.
func openFile(path string) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	settings := url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout(5000)", "query_only(1)"}}
	dsn := url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: settings.Encode()}
	connector, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func openPostgres(address string) (*sql.DB, error) {
	dsn, _ := cutSchema(address)
	pool, err := pgxpool.ParseConfig(dsn) // it accepts the settings of pools
	if err != nil {
		return nil, withoutPassword(err, address)
	}
	return stdlib.OpenDB(*pool.ConnConfig), nil
}
