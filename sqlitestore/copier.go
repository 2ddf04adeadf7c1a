package sqlitestore

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/calldibs/dibs/internal/backoff"
)

// copier copies the pages of a file that others write.
//
// A transaction that reads for long keeps the WAL from starting over, so the WAL would grow all
// the time. The copier reads in turns, each until the WAL has grown by [turnFrames]. Between two turns it
// takes the write lock for a moment, moves the WAL into the file, and notes which pages the WAL
// has: those that were copied before are copied again. When few are left, it copies them under the
// lock. The copy is then the file as of that moment.
//
// No change escapes its notice. The next turn's transaction begins before the lock is released,
// and lasts until another one has begun, which lasts until the next lock is taken. A transaction
// either uses the WAL, which then cannot start over, or finds all of it in the file, which then
// cannot change: the WAL may start over once, but not again, since that needs everything in it to
// be moved to the file.
type copier struct {
	store  *Store
	reader *session // has the transaction of a turn
	pin    *session // has a transaction while most of the WAL is moved, between two turns
	out    *os.File
	wal    *os.File

	pageSize, pages int64
	copied          int64              // pages 1 to copied were copied once
	dirty           map[int64]struct{} // of these, those that have changed since
	seen            walPosition
	turnEnds        int64 // when the WAL has so many frames
}

// walPosition is a position in the WAL. The salt tells the times apart that the WAL starts over.
type walPosition struct {
	salt   [8]byte
	frames int64
}

const (
	turnFrames  = checkpointAt // the WAL starts over at the beginning of a turn, so this is its length
	fewPages    = 2000         // can be copied under the write lock
	pagesAtOnce = 256
)

// copyInto copies the store into an empty file.
func (s *Store) copyInto(ctx context.Context, out *os.File) (err error) {
	if err := s.calls.Begin(ctx); err != nil {
		return err
	}
	defer s.calls.End()
	c := newCopier(s, out)
	defer c.close()
	if err := c.open(ctx); err != nil {
		return unavailable(err)
	}
	for first, before := int64(0), int64(math.MaxInt32); ; {
		if err := c.nextTurn(ctx); err != nil {
			return unavailable(err)
		}
		if first = cmp.Or(first, c.pages); c.copied >= first {
			// Others may change pages as fast as they are copied. Then further turns are of no use.
			left := int64(len(c.dirty)) + c.pages - c.copied
			if left <= fewPages || left > before*3/4 {
				break
			}
			before = left
		}
		if err := c.turn(ctx); err != nil {
			return unavailable(err)
		}
	}
	return unavailable(c.locked(ctx, c.finish))
}

func newCopier(s *Store, out *os.File) *copier {
	return &copier{store: s, reader: s.readers.another(), pin: s.readers.another(), out: out, dirty: make(map[int64]struct{})}
}

func (c *copier) close() {
	_ = c.reader.close()
	_ = c.pin.close()
	if c.wal != nil {
		_ = c.wal.Close()
	}
}

var (
	selectFile  = newStatement(`SELECT file FROM pragma_database_list WHERE name = 'main'`)
	pageSize    = newStatement(`PRAGMA page_size`)
	pageCount   = newStatement(`PRAGMA page_count`)
	selectPages = newStatement(`WITH RECURSIVE wanted(n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM wanted WHERE n < ?2)
		SELECT n, data FROM wanted CROSS JOIN sqlite_dbpage ON pgno = n`)
	selectListed = newStatement(`SELECT value, data FROM json_each(?) CROSS JOIN sqlite_dbpage ON pgno = value`)
)

func (c *copier) open(ctx context.Context) error {
	path, err := walPath(ctx, c.reader)
	if err != nil {
		return err
	}
	if c.pageSize, err = readInt(ctx, c.reader, pageSize); err != nil {
		return err
	}
	c.wal, err = os.Open(path)
	return err
}

// nextTurn begins the next turn. It moves most of the WAL before it takes the lock.
func (c *copier) nextTurn(ctx context.Context) error {
	if err := beginReading(ctx, c.pin); err != nil {
		return err
	}
	c.reader.rollback()
	if _, _, err := walState(c.reader, passiveCheckpoint); err != nil && !isBusy(err) {
		return err
	}
	return c.locked(ctx, c.beginTurn)
}

// beginReading begins a transaction that sees this moment.
func beginReading(ctx context.Context, conn *session) error {
	if err := conn.exec(ctx, beginRead); err != nil {
		return err
	}
	_, err := readInt(ctx, conn, pageCount)
	return err
}

// locked runs fn while no other connection can write.
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

// beginTurn notes changes, moves the rest of the WAL, and begins the transaction of a turn.
func (c *copier) beginTurn(ctx context.Context, conn *session) error {
	if err := c.noteChanges(ctx); err != nil {
		return err
	}
	c.pin.rollback()
	frames, left, err := c.awaitWAL(ctx, passiveCheckpoint)
	if err != nil {
		return err
	}
	if c.turnEnds = turnFrames; left > 0 { // another read needs the WAL, which goes on
		c.turnEnds += frames
	}
	if err := beginReading(ctx, c.reader); err != nil {
		return err
	}
	return c.measure(ctx, conn)
}

// measure asks for the size of the file, and forgets pages that a VACUUM has cut off.
func (c *copier) measure(ctx context.Context, conn *session) (err error) {
	c.pages, err = readInt(context.WithoutCancel(ctx), conn, pageCount) // an interrupted connection would lose its cache
	c.copied = min(c.copied, c.pages)
	maps.DeleteFunc(c.dirty, func(n int64, _ struct{}) bool { return n > c.copied })
	return err
}

// noteChanges notes the pages that were written since it last did.
func (c *copier) noteChanges(ctx context.Context) error {
	frames, _, err := c.awaitWAL(ctx, lookAtWAL)
	if err != nil {
		return err
	}
	return c.scanWAL(frames)
}

// awaitWAL is [walState], but waits for other connections that are in a checkpoint at this moment.
func (c *copier) awaitWAL(ctx context.Context, checkpoint *statement) (frames, left int64, err error) {
	for {
		frames, left, err = walState(c.reader, checkpoint)
		if !isBusy(err) {
			return frames, left, err
		}
		if err := backoff.Sleep(ctx, time.Millisecond); err != nil {
			return 0, 0, err
		}
	}
}

const framesAtOnce = 128

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
	frameSize := frameHeader + c.pageSize
	data := make([]byte, framesAtOnce*frameSize)
	for ; first < frames; first += framesAtOnce {
		part := data[:min(framesAtOnce, frames-first)*frameSize]
		if _, err := c.wal.ReadAt(part, walHeader+first*frameSize); err != nil {
			return err
		}
		for frame := range slices.Chunk(part, int(frameSize)) {
			if n := int64(binary.BigEndian.Uint32(frame)); n <= c.copied {
				c.dirty[n] = struct{}{}
			}
		}
	}
	c.seen = now
	return nil
}

// turn copies pages until the WAL has grown: at first all in order, then those that have changed.
func (c *copier) turn(ctx context.Context) error {
	for c.copied < c.pages {
		if err := c.copyNext(ctx, c.reader); err != nil || c.turnIsOver() {
			return err
		}
	}
	for len(c.dirty) > 0 {
		if err := c.copyDirty(ctx, c.reader); err != nil || c.turnIsOver() {
			return err
		}
	}
	return nil
}

func (c *copier) turnIsOver() bool {
	frames, _, err := walState(c.pin, lookAtWAL)
	return err == nil && frames >= c.turnEnds
}

// finish copies what is left while no other connection can write.
func (c *copier) finish(ctx context.Context, conn *session) error {
	c.pin.rollback()
	c.reader.rollback()
	err := errors.Join(c.noteChanges(ctx), c.measure(ctx, conn))
	ctx = context.WithoutCancel(ctx) // an interrupted connection would lose its cache
	for err == nil && len(c.dirty) > 0 {
		err = c.copyDirty(ctx, conn)
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

// copyDirty copies some pages that have changed, by one statement.
func (c *copier) copyDirty(ctx context.Context, conn *session) error {
	var numbers []int64
	for n := range c.dirty {
		if numbers = append(numbers, n); len(numbers) == pagesAtOnce {
			break
		}
	}
	list, err := json.Marshal(numbers)
	if err != nil {
		return err
	}
	found := 0
	err = conn.query(ctx, selectListed, []any{string(list)}, func(row []driver.Value) error {
		found++
		n, data := asInt(row[0]), asBytes(row[1])
		if int64(len(data)) != c.pageSize {
			return io.ErrUnexpectedEOF
		}
		delete(c.dirty, n)
		_, err := c.out.WriteAt(data, (n-1)*c.pageSize)
		return err
	})
	if err == nil && found != len(numbers) {
		err = io.ErrUnexpectedEOF
	}
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
