package sqlitestore

import (
	"context"
	_ "embed" // for schema.sql
	"fmt"

	"github.com/calldibs/dibs"
)

//go:embed schema.sql
var schema string

// holdsWithKeys puts the keys of held names into the index of their ends: a page of the held names
// is found in the index alone. An index in the order of the keys would find it sooner, but cost
// every reservation one more page in a random place, and a quarter of its processor time.
const holdsWithKeys = `
	DROP INDEX dibs_names_held;
	CREATE INDEX dibs_names_held ON dibs_names (due, namespace, canonical) WHERE state = 'held';`

// migrations are the scripts: number n brings the schema from version n-1 to n.
var migrations = []string{schema, holdsWithKeys, addSums}

var (
	selectTables  = newStatement(`SELECT count(*), coalesce(sum(name = 'dibs_schema'), 0) FROM sqlite_schema`)
	selectVersion = newStatement(`SELECT coalesce(max(version), 0) FROM dibs_schema`)
	createSchema  = newStatement(`CREATE TABLE IF NOT EXISTS dibs_schema (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL) STRICT`)
	insertVersion = newStatement(`INSERT INTO dibs_schema (version, applied_at) VALUES (?, ?)`)
	encoding      = newStatement(`PRAGMA encoding`)
)

// inspect returns the version of the schema, or 0 for a file without one. The error says why the
// database cannot be used by a build that knows some versions.
func inspect(ctx context.Context, run runner, known int, shared bool) (version int64, err error) {
	tables, err := readRow(ctx, run, selectTables)
	if err != nil {
		return 0, err
	}
	if all, ours := asInt(tables[0]), asInt(tables[1]); ours == 0 {
		if all > 0 && !shared {
			return 0, ErrForeignDatabase
		}
	} else if version, err = readInt(ctx, run, selectVersion); err != nil {
		return 0, err
	}
	if version > int64(known) {
		return 0, fmt.Errorf("%w: its schema is version %d, this build knows %d", ErrNewerSchema, version, known)
	}
	// UTF-16 has another byte order, and loses bytes that are not text.
	enc, err := readRow(ctx, run, encoding)
	if err != nil {
		return 0, err
	}
	if enc[0] != "UTF-8" {
		return 0, fmt.Errorf("%w: its text encoding is %s, Dibs needs UTF-8", ErrForeignDatabase, enc[0])
	}
	return version, nil
}

// migrate runs the missing scripts in one transaction. Concurrent processes wait for each
// other at its beginning.
func migrate(ctx context.Context, conn *session, scripts []string, shared bool, now func() dibs.Instant) error {
	if version, err := inspect(ctx, conn, len(scripts), shared); err != nil || version == int64(len(scripts)) {
		return err
	}
	if err := conn.exec(ctx, beginWrite); err != nil {
		return err
	}
	if err := runScripts(ctx, conn, scripts, shared, now); err != nil {
		_ = conn.exec(context.Background(), rollbackTx)
		return err
	}
	return conn.exec(ctx, commitTx)
}

func runScripts(ctx context.Context, conn *session, scripts []string, shared bool, now func() dibs.Instant) error {
	version, err := inspect(ctx, conn, len(scripts), shared) // again: another process may have migrated
	if err != nil {
		return err
	}
	if err := conn.exec(ctx, createSchema); err != nil {
		return err
	}
	for _, script := range scripts[version:] {
		version++
		if err := conn.script(ctx, script); err != nil {
			return fmt.Errorf("migration %d: %w", version, err)
		}
		if err := conn.exec(ctx, insertVersion, version, int64(now())); err != nil {
			return err
		}
	}
	return nil
}
