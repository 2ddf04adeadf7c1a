package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
)

// ErrNoStore is the error for an address at which there is no store yet.
var ErrNoStore = errors.New("there is no store")

// MustExist returns [ErrNoStore] if opening an address would create a store: for SQLite a file, for
// PostgreSQL the tables. An address that cannot be asked passes, because Open says what is wrong
// with it. It does not ask etcd, where a new store is a few keys under its prefix.
func MustExist(ctx context.Context, address string) error {
	scheme, rest, _ := strings.Cut(address, ":")
	exists := true
	switch scheme {
	case "sqlite":
		info, err := os.Stat(rest)
		exists = err == nil && info.Size() > 0 || err != nil && !errors.Is(err, os.ErrNotExist)
	case "postgres", "postgresql":
		exists = hasTables(ctx, address)
	}
	if !exists {
		return fmt.Errorf("%w at %s", ErrNoStore, Redacted(address))
	}
	return nil
}

// hasTables reports whether a database has the tables of a store, or cannot be asked.
func hasTables(ctx context.Context, address string) bool {
	db, err := openPostgres(address)
	if err != nil {
		return true
	}
	defer func() { _ = db.Close() }()
	_, own := cutSettings(address)
	schema := cmp.Or(own[schemaSetting], "dibs")
	var exists bool
	err = db.QueryRowContext(ctx, "SELECT to_regclass($1) IS NOT NULL", pgx.Identifier{schema, "dibs_schema"}.Sanitize()).Scan(&exists)
	return err != nil || exists
}
