package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/durable"
)

// creation is a new file that is filled before others see it.
//
// An import into a file in use changes a random page of each index for every name, and every page is
// written twice, to the WAL and to the file: in a large file that is most of the work. A file that no
// other process uses needs neither a log nor syncs before it is complete, and its indexes are built at
// the end, from sorted keys. All of it is one transaction of one connection. It cannot be rolled back,
// so any error of SQLite discards the file.
type creation struct {
	path      string // where the file appears
	temp      string // where it is until then
	published bool
	dropped   []string // the statements that create the indexes which are missing
	known     *filter  // of all records that commits may have written
}

const (
	creationCache = 20 << 10 // KiB; a page of 2 KiB takes twice as much memory
	sortingCache  = 8 << 10  // while indexes are built: SQLite sorts in as much memory again

	// manyEvents is how many events in a commit are worth dropping the indexes: an import has that many.
	manyEvents = 500
)

// Create returns a store that fills a new file, for an import of many names: it is several times as fast
// as [Open]. The file appears at path, complete and on disk, when the store closes after [Store.Publish].
// Until then no other process sees it. A store that closes without Publish, or after an error of
// SQLite, leaves nothing; a process that dies leaves a temporary file beside path, which the next
// Create removes.
//
// An import needs single records only. Listings work, too, but the first one after a part of the import
// builds the indexes, and the next part drops them again. So give the registry no sweeper
// (SweepEvery -1).
//
// Create fails with [fs.ErrExist] if there is a file at path, with [ErrOldWAL] if there is a log beside
// path, and with [errors.ErrUnsupported] if the folder cannot have hard links.
func Create(ctx context.Context, path string, cfg Config) (*Store, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: %q: %w", path, err)
	}
	removeAbandoned(ctx, abs)
	temp, err := createTemp(abs)
	if err != nil {
		return nil, err
	}
	cfg.BusyTimeout = 0
	writer := newPool(connector(dsn(temp, cfg, "mode", "rw")), 1)
	s := &Store{writer: writer, readers: writer, creation: &creation{path: abs, temp: temp, known: newFilter()}}
	s.queries = queries{cfg.Now, s.readCreation}
	if err := s.beginCreation(ctx); err != nil {
		_ = s.Close()
		return nil, openError(path, err)
	}
	return s, nil
}

const tempMark = "-new-" // in the names of files that are not complete

// createTemp creates an empty file beside path, in a folder that can have hard links.
func createTemp(path string) (string, error) {
	if err := mustBeNew(path); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+tempMark+"*") // for its owner alone
	if err != nil {
		return "", errCannotOpen(path, err)
	}
	temp := file.Name()
	if err := file.Close(); err != nil {
		return "", errCannotOpen(path, err)
	}
	if err := errors.Join(os.Link(temp, temp+"l"), os.Remove(temp+"l")); err != nil {
		_ = os.Remove(temp)
		return "", fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return temp, nil
}

// mustBeNew returns an error unless a complete database can be put at a path. SQLite takes a log beside it
// for the one of this database, and would write the pages of an earlier one over it.
func mustBeNew(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("sqlitestore: %q: %w: give the path of a new file", path, fs.ErrExist)
	}
	for _, log := range []string{path + "-wal", path + "-journal"} {
		if _, err := os.Lstat(log); err == nil {
			return fmt.Errorf("%w: %q", ErrOldWAL, log)
		}
	}
	return nil
}

// linkNew gives a complete database its name. Unlike a rename, a link never replaces a file that was
// created meanwhile.
func linkNew(temp, path string) error {
	if err := mustBeNew(path); err != nil {
		return err
	}
	if err := os.Link(temp, path); err != nil {
		return err
	}
	return durable.Folder(filepath.Dir(path))
}

// removeAbandoned removes what processes have left that died while they filled a file for path.
func removeAbandoned(ctx context.Context, path string) {
	entries, _ := os.ReadDir(filepath.Dir(path))
	published, _ := os.Stat(path)
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), filepath.Base(path)+tempMark) {
			continue
		}
		temp := filepath.Join(filepath.Dir(path), entry.Name())
		info, err := os.Stat(temp)
		if err != nil || info.Size() == 0 {
			continue // gone, or about to be locked
		}
		if os.SameFile(info, published) || !isLocked(ctx, temp) {
			_ = os.Remove(temp)
		}
	}
}

// isLocked reports whether a process fills a file.
func isLocked(ctx context.Context, path string) bool {
	conn := &session{connector: connector(dsn(path, Config{}, "mode", "rw"))}
	defer conn.close()
	return isBusy(conn.script(ctx, "BEGIN EXCLUSIVE"))
}

func (s *Store) beginCreation(ctx context.Context) error {
	conn, err := s.writer.take(ctx)
	if err != nil {
		return err
	}
	defer s.writer.put(conn)
	ctx = context.WithoutCancel(ctx)
	// Sorting needs files where memory is limited.
	if err := conn.script(ctx, `PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;
		PRAGMA temp_store = FILE; PRAGMA `+pragmaCache(creationCache)); err != nil {
		return err
	}
	if err := migrate(ctx, conn, migrations, false, s.instant); err != nil {
		return err
	}
	if err := conn.exec(ctx, beginWrite); err != nil {
		return err
	}
	conn.oneTransaction = true
	return nil
}

func pragmaCache(kib int) string { return fmt.Sprintf("cache_size = -%d", kib) }

// Publish makes Close publish the file of a store that Create has returned.
func (s *Store) Publish() { s.creation.published = true }

// readCreation runs fn on the connection that writes, after it has built the indexes: only reads of single
// records do without.
func (s *Store) readCreation(ctx context.Context, fn func(runner) error) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	conn, err := s.writer.take(ctx)
	if err != nil {
		return dibs.Unavailable(err)
	}
	defer s.writer.put(conn)
	if err := s.creation.index(conn); err != nil {
		return unavailable(err)
	}
	return unavailable(fn(uninterrupted{conn}))
}

// uninterrupted is a session whose statements do not end with the context: an interrupted statement
// would cost the file.
type uninterrupted struct{ *session }

func (u uninterrupted) query(ctx context.Context, st *statement, args []any, fn func(row []driver.Value) error) error {
	return u.session.query(context.WithoutCancel(ctx), st, args, fn)
}

func (u uninterrupted) exec(ctx context.Context, st *statement, args ...any) error {
	return u.session.exec(context.WithoutCancel(ctx), st, args...)
}

var selectLargeIndexes = newStatement(`SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql LIKE 'CREATE UNIQUE%'`)

// expect drops the large indexes before a large commit.
func (c *creation) expect(conn *session, groups []dibs.Group) error {
	events := 0
	for i := range groups {
		events += len(groups[i].Events)
	}
	if events < manyEvents || c.dropped != nil {
		return nil
	}
	ctx := context.Background()
	var names, creates []string
	if err := conn.query(ctx, selectLargeIndexes, nil, func(row []driver.Value) error {
		names, creates = append(names, asText(row[0])), append(creates, asText(row[1]))
		return nil
	}); err != nil {
		return err
	}
	c.dropped = creates
	return conn.script(ctx, "DROP INDEX "+strings.Join(names, "; DROP INDEX "))
}

// index builds the indexes that were dropped.
func (c *creation) index(conn *session) error {
	if c.dropped == nil {
		return nil
	}
	script := "PRAGMA " + pragmaCache(sortingCache) + ";" + strings.Join(c.dropped, ";") + "; PRAGMA " + pragmaCache(creationCache)
	c.dropped = nil
	return conn.script(context.Background(), script)
}

// close ends the creation, whose connection it closes.
func (c *creation) close(writer *pool) error {
	defer func() { _ = os.Remove(c.temp) }()
	conn := <-writer.idle
	if !c.published {
		_ = conn.close()
		return nil
	}
	err := c.index(conn)
	conn.oneTransaction = false
	if err == nil {
		err = conn.exec(context.Background(), commitTx)
	}
	if err != nil {
		return errors.Join(err, conn.close())
	}
	return c.publish(conn)
}

// publish makes the file durable, and gives it its name. The connection keeps its lock until then, so that
// another process does not take the file for an abandoned one. If this process closed any file with the
// same content before, the lock would end.
func (c *creation) publish(conn *session) error {
	file, err := os.OpenFile(c.temp, os.O_RDWR, 0)
	if err != nil {
		return errors.Join(err, conn.close())
	}
	if err = file.Sync(); err == nil {
		err = linkNew(c.temp, c.path)
	}
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("sqlitestore: another process has created the file meanwhile: %w", err)
	}
	return errors.Join(err, conn.close(), file.Close())
}
