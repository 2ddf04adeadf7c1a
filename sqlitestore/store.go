// Package sqlitestore keeps a registry of names in one SQLite file.
//
//	store, err := sqlitestore.Open(ctx, "names.db", sqlitestore.Config{})
//
// It is the engine for programs that embed their registry: no server, no cgo, and several
// processes on one machine may share the file. An acknowledged commit is on disk: the file is in
// WAL mode with synchronous=FULL.
//
// SQLite has one writer at a time. The store has one connection that writes, on which every
// Commit is one transaction whatever the number of its groups, and a few that read.
//
// The tables can be read with the sqlite3 shell; schema.sql describes them. Never
// write to them with a shell older than SQLite 3.51.3: it can damage a WAL file that is in use.
package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/backoff"
	"github.com/calldibs/dibs/internal/bisect"
	"github.com/calldibs/dibs/internal/inflight"
)

// Store is a [dibs.Store] on one SQLite file. It is safe for concurrent use.
type Store struct {
	queries
	calls inflight.Calls // the calls that Close waits for

	writer      *pool // of the one session that writes
	readers     *pool
	guard       *session      // keeps the WAL as it is; see probe
	checkpoints *checkpointer // nil until Open has succeeded
	busyTimeout time.Duration
	creation    *creation // nil, except in a store that fills a new file
}

var (
	_ dibs.Store    = (*Store)(nil)
	_ dibs.Pinger   = (*Store)(nil)
	_ dibs.Clock    = (*Store)(nil)
	_ bisect.Seeker = (*Store)(nil)
)

// Now returns the engine's time, which is that of the machine.
func (s *Store) Now() (dibs.Instant, bool) { return s.instant(), true }

// Ping reads from the file.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, func(run runner) error {
		_, err := readInt(ctx, run, selectVersion)
		return err
	})
}

// readConn runs fn on a connection that reads. If fn runs several statements, it uses
// [snapshot].
func (s *Store) readConn(ctx context.Context, fn func(runner) error) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	return unavailable(s.readers.use(ctx, fn))
}

// Close waits for the calls under way and closes the file. All later calls
// return UNAVAILABLE, caused by [dibs.ErrClosed]. Closing twice is allowed.
func (s *Store) Close() error {
	return s.calls.Close(func() error {
		if s.creation != nil {
			return unavailable(s.creation.close(s.writer))
		}
		var err error
		if s.checkpoints != nil {
			err = s.checkpoints.close()
		}
		// The writer last: the last connection that closes moves the WAL into the file.
		err = errors.Join(err, s.readers.close(), s.writer.close())
		return unavailable(errors.Join(err, s.guard.close()))
	})
}

// Config holds a store's settings. The zero Config is usable.
type Config struct {
	// Now is the clock. Nil means the machine's.
	Now func() time.Time

	// Shared allows a file with tables of the caller. Dibs adds its tables, all named dibs_…,
	// and switches the file to WAL mode. False means that Open refuses such a file with
	// [ErrForeignDatabase].
	Shared bool

	// BusyTimeout is how long a call waits for a writing process before it returns UNAVAILABLE.
	// Zero means 5 seconds.
	BusyTimeout time.Duration

	// Inspect opens an existing file also if it is damaged, to find out what of it can be read. The
	// store writes nothing, and refuses every Commit. It is for checks, never for serving: names may
	// be missing in a listing. False means that Open refuses a damaged file with [ErrDamaged].
	Inspect bool
}

const (
	readerCount = 4 // connections that read

	// How much of the file a connection caches, in KiB.
	writerCache = 32 << 10
	readerCache = 4 << 10
)

// Open opens the store in the file at path. A missing or empty file becomes a new store, and
// Open migrates one of an older version. Several processes may do so at once.
//
// Only its owner may read and write a new file and the -wal and -shm files beside it. The
// permissions of an existing file do not change.
//
// Errors match [ErrNotDatabase], [ErrForeignDatabase], [ErrNewerSchema] or [ErrDamaged], or say
// what is wrong with the path. Open changes no file that it refuses; a refused file in WAL mode may
// get SQLite's -wal and -shm files beside it.
func Open(ctx context.Context, path string, cfg Config) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.BusyTimeout <= 0 {
		cfg.BusyTimeout = 5 * time.Second
	}
	abs, exists, err := preparePath(path, !cfg.Inspect)
	if err != nil {
		return nil, err
	}
	writeCfg := cfg
	writeCfg.BusyTimeout = 0 // begin waits itself
	const cannotWrite = "query_only(1)"
	writes := []string{"mode", "rw", "_pragma", cacheSize(writerCache)}
	if cfg.Inspect {
		writes = append(writes, "_pragma", cannotWrite)
	}
	s := &Store{
		busyTimeout: cfg.BusyTimeout,
		writer:      newPool(connector(dsn(abs, writeCfg, writes...)), 1),
		readers:     newPool(connector(dsn(abs, cfg, "mode", "rw", "_pragma", cannotWrite, "_pragma", cacheSize(readerCache))), readerCount),
		guard:       &session{connector: connector(dsn(abs, cfg, "mode", "ro"))},
	}
	s.queries = queries{cfg.Now, s.readConn}
	if exists {
		err = s.probe(ctx, abs, cfg)
	}
	if err == nil {
		err = s.prepare(ctx, cfg)
	}
	if err != nil {
		_ = s.Close()
		return nil, openError(path, err)
	}
	if !cfg.Inspect {
		_ = s.guard.close()
	}
	s.checkpoints = newCheckpointer(s)
	return s, nil
}

const minDatabase = 512 // SQLite's smallest page

// preparing serialises preparePath: a file must be created and closed before any store of
// this process opens it.
var preparing sync.Mutex

// preparePath refuses what cannot be a file, creates a missing file if it may, and reports whether
// the file has content. It must not open an existing file: closing it would drop the locks of
// other connections in this process.
func preparePath(path string, create bool) (abs string, exists bool, err error) {
	preparing.Lock()
	defer preparing.Unlock()
	if path == "" || path == ":memory:" || strings.ContainsRune(path, 0) {
		return "", false, fmt.Errorf("sqlitestore: %q is not the path of a file: give one, or use package memstore for a registry in memory", path)
	}
	if abs, err = filepath.Abs(path); err != nil {
		return "", false, fmt.Errorf("sqlitestore: %q: %w", path, err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist) && create:
		// For its owner alone, also behind a dangling symbolic link. A file that SQLite creates
		// would be readable by all; its -wal and -shm files get the permissions of the main file.
		file, err := os.OpenFile(abs, os.O_RDWR|os.O_CREATE, 0o600)
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			return "", false, errCannotOpen(path, err)
		}
		return abs, false, nil
	case err != nil:
		return "", false, fmt.Errorf("sqlitestore: cannot inspect %q: %w", path, err)
	case info.IsDir():
		return "", false, fmt.Errorf("sqlitestore: %q is a directory: give the path of a file in it", path)
	case !info.Mode().IsRegular():
		return "", false, fmt.Errorf("sqlitestore: %q is not a regular file: give the path of one", path)
	}
	if size := info.Size(); size > 0 && size < minDatabase {
		return "", false, fmt.Errorf("%w: %q", ErrNotDatabase, path) // SQLite would treat it as empty
	}
	return abs, info.Size() > 0, nil
}

// probe inspects a file before anything is written to it.
//
// The last connection that closes moves the WAL into the file and deletes it, even if it has written
// nothing. Of a damaged file that would destroy what can be recovered. So the guard, which can only read,
// connects first and closes last: after a store for inspection, and after a refused Open.
func (s *Store) probe(ctx context.Context, abs string, cfg Config) error {
	_, err := inspect(ctx, s.guard, len(migrations), cfg.Shared)
	rw := &session{connector: connector(dsn(abs, cfg, "mode", "rw"))}
	defer rw.close()
	if cannotRead(err) {
		// A process was killed while it wrote. The file cannot be read before its last
		// transaction is rolled back, which needs write access.
		_, err = inspect(ctx, rw, len(migrations), cfg.Shared)
	}
	// A file without its last commits may look like one of another program, or like a new one.
	lost := checkWAL(ctx, s.guard)
	if cannotRead(lost) {
		lost = checkWAL(ctx, rw)
	}
	if cfg.Inspect {
		return err
	}
	// The programs that share a file may sync less often, and then a power failure leaves such a WAL.
	if errors.Is(lost, ErrDamaged) && !cfg.Shared {
		return lost
	}
	if err != nil {
		return err
	}
	// On a connection that can only read, SQLite does not compare the indexes with their tables.
	if err = checkSmall(ctx, rw); cannotRead(err) {
		err = checkSmall(ctx, s.guard)
	}
	if err != nil {
		return err
	}
	return syncWAL(ctx, rw)
}

// cannotRead reports whether a file cannot be read in the way it was opened.
func cannotRead(err error) bool {
	return primaryCode(err) == sqlite3.SQLITE_READONLY || primaryCode(err) == sqlite3.SQLITE_CANTOPEN
}

// prepare switches the file to WAL mode and migrates it.
func (s *Store) prepare(ctx context.Context, cfg Config) error {
	conn, err := s.writer.take(ctx)
	if err != nil {
		return err
	}
	defer s.writer.put(conn)
	// When several processes create one file, SQLite sometimes reports a lock without waiting
	// for the busy timeout.
	for deadline := time.Now().Add(cfg.BusyTimeout); ; {
		err := s.tryPrepare(ctx, conn, cfg)
		if !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		if err := backoff.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

func (s *Store) tryPrepare(ctx context.Context, conn *session, cfg Config) error {
	if cfg.Inspect {
		version, err := inspect(ctx, conn, len(migrations), cfg.Shared)
		if err == nil && version != int64(len(migrations)) {
			err = fmt.Errorf("its schema is version %d, and only a sound file can be brought to version %d", version, len(migrations))
		}
		return err
	}
	// Not in the DSN, where an unavailable mode causes no error.
	mode, err := readRow(ctx, conn, setWAL)
	if err != nil {
		return err
	}
	if mode[0] != "wal" {
		return fmt.Errorf("journal mode is %q and WAL is not available: use a file on a local disk", mode[0])
	}
	if err := migrate(ctx, conn, migrations, cfg.Shared, s.instant); err != nil {
		return err
	}
	return mustBeWritable(ctx, conn)
}

// writeNothing fails on a file that cannot be written. BEGIN IMMEDIATE does not: SQLite begins to
// read instead.
var writeNothing = newStatement("DELETE FROM dibs_documents WHERE false")

// mustBeWritable returns the error of a file that cannot be written, which SQLite opens for reading
// instead. The connections of such a store could not write even if the file became writable.
func mustBeWritable(ctx context.Context, conn *session) error {
	err := conn.exec(ctx, writeNothing)
	if isBusy(err) {
		return nil // another process writes
	}
	return err
}

var setWAL = newStatement("PRAGMA journal_mode = WAL")

// cacheSize returns the pragma for the size of a cache.
func cacheSize(kib int) string { return "cache_size(-" + strconv.Itoa(kib) + ")" }

// dsn returns the address of a file for the driver, with its path escaped.
func dsn(abs string, cfg Config, params ...string) string {
	path := filepath.ToSlash(abs)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	query := url.Values{
		"_busy_timeout": {strconv.FormatInt(cfg.BusyTimeout.Milliseconds(), 10)},
		"_synchronous":  {"FULL"},
		// Pages of a new file. A commit writes whole pages, most of which have one changed row: small
		// ones halve what is written.
		"_pragma": {"page_size(2048)", "temp_store(MEMORY)", "wal_autocheckpoint(" + strconv.Itoa(checkpointLate) + ")"},
	}
	for i := 0; i < len(params); i += 2 {
		query.Add(params[i], params[i+1])
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
}

// connector returns the driver's connector. It does not use the driver's registered name,
// which another driver may have taken.
func connector(dsn string) driver.Connector {
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		panic(err) // dsn returns a well-formed query
	}
	return c
}
