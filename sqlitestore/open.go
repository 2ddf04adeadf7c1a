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
)

// Config holds a store's settings. The zero Config is a good one.
type Config struct {
	// Now is the clock. Nil means the machine's.
	Now func() time.Time

	// Shared allows a file that holds tables of the caller's own. Dibs puts its
	// tables beside them, all named dibs_…, and turns the file to WAL mode. False:
	// such a file is refused with [ErrForeignDatabase].
	Shared bool

	// Readers is how many connections read at once. Zero means 4.
	Readers int

	// BusyTimeout is how long to wait for another process that is writing before
	// a call is UNAVAILABLE. Zero means 5 seconds.
	BusyTimeout time.Duration

	// WriterCache and ReaderCache are how many KiB of the file a connection keeps
	// in memory. Zero means 32,768 for the one that writes, 4,096 for each that
	// reads.
	WriterCache, ReaderCache int
}

func (c *Config) setDefaults() {
	if c.Now == nil {
		c.Now = time.Now
	}
	setDefault(&c.Readers, 4)
	setDefault(&c.BusyTimeout, 5*time.Second)
	setDefault(&c.WriterCache, 32<<10)
	setDefault(&c.ReaderCache, 4<<10)
}

func setDefault[T int | time.Duration](value *T, def T) {
	if *value <= 0 {
		*value = def
	}
}

// Open opens the store in the file at path. A missing or empty file becomes a
// new store; one of an older version is brought up to date. Several processes
// may do so at once.
//
// A new file may be read and written by its owner alone, and so may the -wal and -shm
// files beside it. The permissions of a file that is there already stay as they are.
//
// Errors match [ErrNotDatabase], [ErrForeignDatabase] or [ErrNewerSchema], or say
// what is wrong with the path. Only a file that is accepted is changed; looking at
// one in WAL mode may leave SQLite's own -wal and -shm files beside it.
func Open(ctx context.Context, path string, cfg Config) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	abs, exists, err := preparePath(path)
	if err != nil {
		return nil, err
	}
	if exists {
		if err := probe(ctx, abs, cfg); err != nil {
			return nil, openError(path, err)
		}
	}
	writeCfg := cfg
	writeCfg.BusyTimeout = min(cfg.BusyTimeout, busyWait)
	s := &Store{
		now: cfg.Now,
		writer: &writer{
			connector: connector(dsn(abs, writeCfg, "mode", "rw", "_pragma", cacheSize(cfg.WriterCache))),
			wait:      cfg.BusyTimeout, mu: newTurn(),
		},
		readers: newReaders(
			connector(dsn(abs, cfg, "mode", "rw", "_pragma", "query_only(1)", "_pragma", cacheSize(cfg.ReaderCache))),
			cfg.Readers),
	}
	if err := s.prepare(ctx, cfg); err != nil {
		_ = s.Close()
		return nil, openError(path, err)
	}
	return s, nil
}

const minDatabase = 512 // SQLite's smallest page

// preparing makes sure that a file is created, and closed, before any store of this
// process opens it.
var preparing sync.Mutex

// preparePath refuses what cannot be a file, creates a file that is missing, and reports
// whether there is anything in it. It must not open a file that is there: closing it again
// would drop the locks that other connections of this process have on it.
func preparePath(path string) (abs string, exists bool, err error) {
	preparing.Lock()
	defer preparing.Unlock()
	if path == "" || path == ":memory:" || strings.ContainsRune(path, 0) {
		return "", false, fmt.Errorf("sqlitestore: %q is not the path of a file: give one; for a registry in memory use package memstore", path)
	}
	if abs, err = filepath.Abs(path); err != nil {
		return "", false, fmt.Errorf("sqlitestore: %q: %w", path, err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := create(abs); err != nil {
			return "", false, errCannotOpen(path, err)
		}
		return abs, false, nil
	case err != nil:
		return "", false, fmt.Errorf("sqlitestore: cannot look at %q: %w", path, err)
	case info.IsDir():
		return "", false, fmt.Errorf("sqlitestore: %q is a directory: give the path of a file in it", path)
	case !info.Mode().IsRegular():
		return "", false, fmt.Errorf("sqlitestore: %q is not a regular file", path)
	}
	if size := info.Size(); size > 0 && size < minDatabase {
		return "", false, fmt.Errorf("%w: %q", ErrNotDatabase, path) // SQLite would take it for an empty one
	}
	return abs, info.Size() > 0, nil
}

// create makes an empty file for its owner alone, also where a symbolic link leads to none.
// SQLite would let everybody read a file that it creates itself; its -wal and -shm files
// get the permissions of the file they belong to.
func create(abs string) error {
	file, err := os.OpenFile(abs, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// probe looks at a file before anything may be written to it.
func probe(ctx context.Context, abs string, cfg Config) error {
	look := func(mode string) error {
		conn, err := newSession(ctx, connector(dsn(abs, cfg, "mode", mode)))
		if err != nil {
			return err
		}
		defer conn.close()
		_, err = inspect(ctx, conn, cfg.Shared)
		return err
	}
	err := look("ro")
	if primaryCode(err) == sqlite3.SQLITE_READONLY || primaryCode(err) == sqlite3.SQLITE_CANTOPEN {
		// A process died here while writing: the file cannot be read before its
		// last transaction is undone, which takes the right to write.
		err = look("rw")
	}
	return err
}

// prepare turns the file to WAL mode and brings its schema up to date.
func (s *Store) prepare(ctx context.Context, cfg Config) error {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	// When several processes create one file, SQLite reports the others' locks at
	// once in places, without waiting for the busy timeout.
	for deadline := time.Now().Add(cfg.BusyTimeout); ; {
		err := s.tryPrepare(ctx, cfg.Shared)
		if !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Store) tryPrepare(ctx context.Context, shared bool) error {
	conn, err := s.writer.acquire(ctx)
	if err != nil {
		return err
	}
	// Not in the DSN: a mode that cannot be had is no error there.
	mode, err := readRow(ctx, conn, setWAL)
	if err != nil {
		return err
	}
	if mode[0] != "wal" {
		return fmt.Errorf("journal mode is %q, WAL cannot be had: use a file on a local disk", mode[0])
	}
	return migrate(ctx, conn, shared, s.instant)
}

var setWAL = newStatement("PRAGMA journal_mode = WAL")

// cacheSize is the pragma for a cache of so many KiB.
func cacheSize(kib int) string { return "cache_size(-" + strconv.Itoa(kib) + ")" }

// dsn returns the address of a file for the driver, with every character of its
// path escaped that means something there.
func dsn(abs string, cfg Config, params ...string) string {
	path := filepath.ToSlash(abs)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	query := url.Values{
		"_busy_timeout": {strconv.FormatInt(max(1, cfg.BusyTimeout.Milliseconds()), 10)},
		"_synchronous":  {"FULL"},
		// A page that is written often goes to the file once per checkpoint, so few
		// checkpoints save work. The WAL grows to about 32 MB for it.
		"_pragma": {"temp_store(MEMORY)", "wal_autocheckpoint(8000)"},
	}
	for i := 0; i < len(params); i += 2 {
		query.Add(params[i], params[i+1])
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
}

// connector opens connections of the driver without its registered name, which
// another driver may have taken.
func connector(dsn string) driver.Connector {
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		panic(err) // the query is malformed: never what dsn returns
	}
	return c
}
