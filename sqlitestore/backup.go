package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

var vacuumInto = newStatement("VACUUM INTO ?")

// Backup writes a copy of everything into a new file, as it is at one moment. Others read
// and write meanwhile; the WAL grows until it is done. The copy appears under its name
// only when it is complete and on disk, and may be read and written by its owner alone. A
// file that is there already is not touched, and the error then matches [fs.ErrExist].
func (s *Store) Backup(ctx context.Context, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("sqlitestore: %q: %w: give the path of a new file", path, fs.ErrExist)
	}
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part")
	if err != nil {
		return fmt.Errorf("sqlitestore: the backup cannot be written: %w", err)
	}
	_ = part.Close() // nothing was written, and SQLite takes an empty file
	defer func() { _ = os.Remove(part.Name()) }()
	if err := s.copyInto(ctx, part.Name()); err != nil {
		return err
	}
	if err := syncFile(part.Name()); err != nil {
		return fmt.Errorf("sqlitestore: the backup cannot be written: %w", err)
	}
	// Unlike renaming, this never replaces what has come there meanwhile.
	if err := os.Link(part.Name(), path); err != nil {
		return fmt.Errorf("sqlitestore: the backup cannot be written: %w", err)
	}
	return syncFile(filepath.Dir(path))
}

// copyInto copies everything on a connection of its own: the others only read, and SQLite
// counts this as writing.
func (s *Store) copyInto(ctx context.Context, path string) error {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	conn, err := newSession(ctx, s.writer.connector)
	if err != nil {
		return unavailable(err)
	}
	defer conn.close()
	return unavailable(conn.exec(ctx, vacuumInto, path))
}

// syncFile brings a file, or what a folder says of its files, to disk.
func syncFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
