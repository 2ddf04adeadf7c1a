// Package engine opens a store by its address, such as "sqlite:names.db".
package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsotel/pgotel"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/pgstore"
	"github.com/calldibs/dibs/sqlitestore"
)

// known lists the addresses, for errors.
const known = "sqlite:names.db, postgres://user@host/database, etcd://host1,host2,host3/prefix or mem:"

// Open opens the store that an address names:
//
//   - "sqlite:names.db" is a file, which Open creates if it is missing.
//   - "postgres://user:password@host/database", or "postgresql://…", is a PostgreSQL database. It
//     may have all settings of pgx, and dibs_schema, the schema of the tables; the default is
//     "dibs".
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
		return opened(sqlitestore.Open(ctx, rest, sqlitestore.Config{}))
	case "etcd":
		cfg, err := etcdstore.ParseDSN(address)
		if err != nil {
			return nil, err
		}
		return opened(etcdstore.Open(ctx, cfg))
	default:
		dsn, schema := cutSchema(address)
		store, err := pgstore.Open(ctx, dsn, pgstore.Config{Schema: schema, Tracer: pgotel.Tracer{}})
		return opened(store, withoutPassword(err, address))
	}
}

// opened returns a nil interface after an error, not an interface with a nil store.
func opened[S dibs.Store](store S, err error) (dibs.Store, error) {
	if err != nil {
		return nil, err
	}
	return store, nil
}

// Check returns an error if an address is malformed. It opens nothing.
func Check(address string) error {
	scheme, rest, found := strings.Cut(address, ":")
	if !found {
		// The address is not shown: it may be a connection string with a password.
		return fmt.Errorf("a store's address begins with the engine: %s", known)
	}
	switch scheme {
	case "mem":
		if rest != "" {
			return errors.New(`mem: takes no name: write "mem:"`)
		}
		return nil
	case "sqlite":
		return checkFile(rest)
	case "postgres", "postgresql":
		if !strings.HasPrefix(rest, "//") {
			return fmt.Errorf("%s: must be followed by //, as in postgres://user@host/database", scheme)
		}
		return checkPostgres(address)
	case "etcd":
		_, err := etcdstore.ParseDSN(address)
		return err
	default:
		return fmt.Errorf("unknown engine %q: use %s", shorten(scheme), known)
	}
}

// checkFile refuses addresses that other programs accept for an SQLite database, and that would
// name an unintended file here.
func checkFile(path string) error {
	switch {
	case path == "":
		return errors.New(`sqlite: needs the path of a file, as in "sqlite:names.db"`)
	case strings.HasPrefix(path, ":memory:"):
		return errors.New(`SQLite in memory is not supported: use "mem:", which is lost with the process as well`)
	case strings.Contains(path, "?"):
		return errors.New(`sqlite: takes no options: write the path of the file only, as in "sqlite:names.db"`)
	case strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "///"):
		return errors.New(`write "sqlite:names.db" for a file in this folder and "sqlite:/var/lib/names.db" for any other`)
	}
	return nil
}

// shorten truncates an overlong name of an engine.
func shorten(scheme string) string {
	const most = 16
	if len(scheme) <= most {
		return scheme
	}
	return strings.ToValidUTF8(scheme[:most], "") + "…"
}
