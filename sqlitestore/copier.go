package sqlitestore

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"time"

	"github.com/calldibs/dibs/internal/backoff"
)

// copier copies the pages of a file that others write.
//
// A transaction that reads for long keeps the WAL from starting over, so the WAL would grow all
// the time. The copier reads in turns of [turnLength]. Between two turns it takes the write lock
// for a moment, moves the WAL into the file, and notes which pages the WAL has: those that were
// copied before are copied again. When few are left, it copies them under the lock. The copy is
// then the file as of that moment.
//
// No change escapes its notice. The next turn's transaction begins before the lock is released,
// and lasts until the next lock is taken. It either uses the WAL, which then cannot start over, or
// finds all of it in the file, which then nobody changes: the WAL may start over once, but not
// again, since that needs everything in it to be moved to the file.
type copier struct {
	store  *Store
	reader *session // has the transaction of a turn
	out    *os.File
	wal    *os.File

	pageSize, pages int64
	copied          int64              // pages 1 to copied were copied once
	dirty           map[int64]struct{} // of these, those that have changed since
	seen            walPosition
}

// walPosition is a position in the WAL. The salt tells the times apart that the WAL starts over.
type walPosition struct {
	salt   [8]byte
	frames int64
}

const (
	turnLength  = 300 * time.Millisecond
	fewPages    = 2000 // can be copied under the write lock
	maxTurns    = 50   // beyond the first copy, if changes are faster than copying
	pagesAtOnce = 256
)

// copyInto copies the store into an empty file.
func (s *Store) copyInto(ctx context.Context, out *os.File) (err error) {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	c := &copier{store: s, reader: s.readers.another(), out: out, dirty: make(map[int64]struct{})}
	defer c.reader.close()
	if err := c.open(ctx); err != nil {
		return unavailable(err)
	}
	defer c.wal.Close()
	for changed := math.MaxInt; ; {
		if err := c.locked(ctx, c.beginTurn); err != nil {
			return unavailable(err)
		}
		if c.copied == c.pages {
			// Others may change pages as fast as they are copied. Then further turns are of no use.
			before := changed
			if changed = len(c.dirty); changed <= fewPages || changed > before/2 {
				break
			}
		}
		if err := c.turn(ctx); err != nil {
			return unavailable(err)
		}
	}
	return unavailable(c.locked(ctx, c.finish))
}

var (
	selectFile  = newStatement(`SELECT file FROM pragma_database_list WHERE name = 'main'`)
	pageSize    = newStatement(`PRAGMA page_size`)
	pageCount   = newStatement(`PRAGMA page_count`)
	selectPages = newStatement(`WITH RECURSIVE wanted(n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM wanted WHERE n < ?2)
		SELECT n, data FROM wanted CROSS JOIN sqlite_dbpage ON pgno = n`)
)

func (c *copier) open(ctx context.Context) error {
	file, err := readRow(ctx, c.reader, selectFile)
	if err != nil {
		return err
	}
	if c.pageSize, err = readInt(ctx, c.reader, pageSize); err != nil {
		return err
	}
	c.wal, err = os.Open(asText(file[0]) + "-wal")
	return err
}

// locked runs fn while nobody can write.
func (c *copier) locked(ctx context.Context, fn func(context.Context, *session) error) error {
	conn, err := c.store.writer.take(ctx)
	if err != nil {
		return err
	}
	defer c.store.writer.put(conn)
	if err := conn.begin(context.WithoutCancel(ctx), c.store.busyTimeout); err != nil {
		return err
	}
	defer conn.rollback()
	return fn(ctx, conn)
}

// beginTurn begins the transaction of the next turn.
func (c *copier) beginTurn(ctx context.Context, _ *session) error {
	if err := c.noteChanges(ctx); err != nil {
		return err
	}
	if err := c.reader.exec(ctx, beginRead); err != nil {
		return err
	}
	var err error
	c.pages, err = readInt(ctx, c.reader, pageCount)
	c.cut()
	return err
}

// cut forgets pages that a VACUUM has cut off.
func (c *copier) cut() {
	c.copied = min(c.copied, c.pages)
	maps.DeleteFunc(c.dirty, func(n int64, _ struct{}) bool { return n > c.copied })
}

// noteChanges ends the transaction of the last turn, if there was one, moves the WAL into the file,
// and notes the pages that were written since it last did.
func (c *copier) noteChanges(ctx context.Context) error {
	c.reader.rollback()
	for {
		// Another connection may be moving the WAL at this moment; then there is no answer.
		row, err := readRow(ctx, c.reader, passiveCheckpoint)
		if err != nil && !isBusy(err) {
			return err
		}
		if err == nil && asInt(row[1]) >= 0 {
			return c.scanWAL(asInt(row[1]))
		}
		if err := backoff.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

// The parts of a WAL file, see https://www.sqlite.org/fileformat2.html#walformat.
const (
	walHeader   = 32
	walSaltAt   = 16
	frameHeader = 24 // begins with the number of the page
)

// scanWAL notes the pages of all frames that it has not seen.
func (c *copier) scanWAL(frames int64) error {
	now := walPosition{frames: frames}
	if _, err := c.wal.ReadAt(now.salt[:], walSaltAt); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	first := int64(0)
	if now.salt == c.seen.salt {
		first = c.seen.frames
	}
	var number [4]byte
	for frame := first; frame < frames; frame++ {
		if _, err := c.wal.ReadAt(number[:], walHeader+frame*(frameHeader+c.pageSize)); err != nil {
			return err
		}
		if n := int64(binary.BigEndian.Uint32(number[:])); n <= c.copied {
			c.dirty[n] = struct{}{}
		}
	}
	c.seen = now
	return nil
}

// turn copies pages for a while: at first all in order, then those that have changed.
func (c *copier) turn(ctx context.Context) error {
	for end := time.Now().Add(turnLength); time.Now().Before(end); {
		if c.copied < c.pages {
			if err := c.copyNext(ctx, c.reader); err != nil {
				return err
			}
			continue
		}
		for n := range c.dirty {
			if err := c.copyPages(ctx, c.reader, n, n); err != nil {
				return err
			}
			if delete(c.dirty, n); time.Now().After(end) {
				return nil
			}
		}
		return nil
	}
	return nil
}

// finish copies what is left while nobody can write.
func (c *copier) finish(ctx context.Context, conn *session) (err error) {
	if err := c.noteChanges(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // an interrupted connection would lose its cache
	if c.pages, err = readInt(ctx, conn, pageCount); err != nil {
		return err
	}
	c.cut()
	for n := range c.dirty {
		if err := c.copyPages(ctx, conn, n, n); err != nil {
			return err
		}
	}
	for err == nil && c.copied < c.pages {
		err = c.copyNext(ctx, conn)
	}
	return errors.Join(err, c.out.Truncate(c.pages*c.pageSize))
}

// copyNext copies the next pages of the first copy.
func (c *copier) copyNext(ctx context.Context, conn *session) error {
	last := min(c.copied+pagesAtOnce, c.pages)
	err := c.copyPages(ctx, conn, c.copied+1, last)
	c.copied = last
	return err
}

// copyPages copies pages from first to last.
func (c *copier) copyPages(ctx context.Context, conn *session, first, last int64) error {
	data := make([]byte, 0, (last-first+1)*c.pageSize)
	err := conn.query(ctx, selectPages, []any{first, last}, func(row []driver.Value) error {
		data = append(data, asBytes(row[1])...)
		return nil
	})
	if err == nil && int64(len(data)) != (last-first+1)*c.pageSize {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		_, err = c.out.WriteAt(data, (first-1)*c.pageSize)
	}
	return err
}
