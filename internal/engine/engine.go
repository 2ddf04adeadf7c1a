// Package engine opens a store by its address, such as "sqlite:names.db".
package engine

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsotel/pgotel"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/sqlitestore"
)

// Open opens the store that an address names:
//
//   - "sqlite:names.db" is a file, which Open creates if it is missing.
//   - "postgres://user:password@host/database", or "postgresql://…", is a PostgreSQL database. It
//     may have all settings of pgx, dibs_schema, the schema of the tables (the default is "dibs"),
//     and dibs_pooling=transaction, see [pgstore.Config].
//   - "etcd://user:password@host1:2379,host2:2379,host3:2379/prefix" is an etcd cluster, see
//     [etcdstore.ParseDSN].
//   - "mem:" is in memory, and lost with the process.
//
// No error contains a password.
func Open(ctx context.Context, address string) (dibs.Store, error) {
	if err := Check(address); err != nil {
		return nil, err
	}
	scheme, rest, _ := strings.Cut(address, ":")
	switch scheme {
	case "mem":
		return memstore.New(memstore.Config{}), nil
	case "sqlite":
		return opened(sqlitestore.Open(ctx, rest, sqlitestore.Config{Now: testClock()}))
	case "etcd":
		cfg, err := etcdstore.ParseDSN(address)
		if err != nil {
			return nil, err
		}
		cfg.Now = testClock()
		return opened(etcdstore.Open(ctx, cfg))
	default:
		dsn, own := cutSettings(address)
		store, err := pgstore.Open(ctx, dsn, pgstore.Config{
			Schema: own[schemaSetting], TransactionPooling: own[poolingSetting] == "transaction", Tracer: pgotel.Tracer{},
		})
		return opened(store, withoutPassword(err, address))
	}
}

// create creates the store of an address that is a new SQLite file. For any other address Open says what
// is wrong, if anything is.
func create(ctx context.Context, address string) (*sqlitestore.Store, error) {
	path, isFile := strings.CutPrefix(address, "sqlite:")
	if err := Check(address); err != nil || !isFile {
		return nil, cmp.Or(err, errors.ErrUnsupported)
	}
	return sqlitestore.Create(ctx, path, sqlitestore.Config{})
}

// opened returns a nil interface after an error, not an interface with a nil store.
func opened[S dibs.Store](store S, err error) (dibs.Store, error) {
	if err != nil {
		return nil, err
	}
	return store, nil
}

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
	dsn, own := cutSettings(address)
	pool, err := pgxpool.ParseConfig(dsn) // it accepts the settings of pools
	if err != nil {
		return nil, withoutPassword(err, address)
	}
	if own[poolingSetting] == "transaction" { // a prepared statement would stay in another session
		pool.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return stdlib.OpenDB(*pool.ConnConfig), nil
}
