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

// maxConnections is how many connections to a database of the user's own there are.
const maxConnections = 2

// OpenDatabase opens a database of the user's own, to look at. Its address is that of a store:
// "sqlite:orders.db" or "postgres://user:password@host/database". Nothing is connected to
// before it is asked something, and a file that is missing is not created.
//
// No error ever has a password in it.
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

// CheckDatabase says what is wrong with the address of a database that is to be looked at.
func CheckDatabase(address string) error {
	scheme, _, _ := strings.Cut(address, ":")
	if scheme == "mem" || scheme == "etcd" {
		return fmt.Errorf("%s: has no SQL: use sqlite:orders.db or postgres://user@host/database", scheme)
	}
	return Check(address)
}

// openFile opens a SQLite file that is there. Its mode is rw, since after a crash a file cannot be
// read before its last transaction is undone; query_only keeps statements from writing.
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
	pool, err := pgxpool.ParseConfig(dsn) // it knows the settings of pools, which stores have
	if err != nil {
		return nil, withoutPassword(err, address)
	}
	return stdlib.OpenDB(*pool.ConnConfig), nil
}
