package sqlitestore

import (
	"context"
	"time"
)

// checkpointer moves the WAL into the file, beside the commits.
//
// SQLite would do so at the end of a commit, and all calls would wait for it, most of all for the
// sync of the file. The checkpointer copies on a connection of its own while commits go on. Now
// and then the WAL must begin again from its start. For that all of it must be in the file at one
// moment, so the checkpointer copies the last few pages between two commits.
type checkpointer struct {
	store *Store
	conn  *session
	at    int64         // how many pages in the WAL are worth a checkpoint
	most  int64         // to which that may grow
	last  time.Time     // when there was one
	wake  chan struct{} // has an element after a commit

	stopping, stopped chan struct{}
}

const (
	// A checkpoint writes each changed page once, so few checkpoints save work. But a commit that makes
	// the file of the WAL longer waits twice as long for its sync as one that writes over old pages. So
	// the WAL is short at first, and becomes longer when it fills in a short time. 16,000 pages are 32 MB.
	firstCheckpointAt = 2000
	checkpointAt      = 16_000
	shortTime         = 150 * time.Millisecond
	// restartAt is how many checkpoints a WAL lasts: it grows to about 100 MB.
	restartAt = 3
	// If the checkpointer falls behind, because it gets no processor or the disk is slow, commits
	// move the WAL themselves: it must not grow without bound.
	checkpointLate = 5 * checkpointAt

	checkpointPause    = 20 * time.Millisecond  // between two looks at the WAL
	maxCheckpointPause = 500 * time.Millisecond // while a long read needs the WAL as it is
)

func newCheckpointer(s *Store) *checkpointer {
	c := &checkpointer{
		store: s, conn: s.writer.another(), at: firstCheckpointAt, most: checkpointAt,
		wake: make(chan struct{}, 1), stopping: make(chan struct{}), stopped: make(chan struct{}),
	}
	go c.run()
	return c
}

// committed tells the checkpointer that the WAL has grown.
func (c *checkpointer) committed() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *checkpointer) close() error {
	close(c.stopping)
	<-c.stopped
	return c.conn.close()
}

// run looks at the WAL some time after a commit. So a program that commits once and ends does not
// open the connection.
func (c *checkpointer) run() {
	defer close(c.stopped)
	pause := checkpointPause
	for {
		select {
		case <-c.wake:
		case <-c.stopping:
			return
		}
		select {
		case <-time.After(pause):
		case <-c.stopping:
			return
		}
		if c.checkpoint() {
			pause = checkpointPause
		} else {
			pause = min(2*pause, maxCheckpointPause)
		}
	}
}

// checkpoint does what is due, and reports whether that succeeded. Errors are left to the next
// commit, which meets the same disk.
func (c *checkpointer) checkpoint() bool {
	frames, left, err := walState(c.conn, lookAtWAL)
	if err != nil {
		return false
	}
	restart := frames >= restartAt*c.at
	if !restart && left < c.at {
		return true
	}
	if c.at < c.most && time.Since(c.last) < shortTime {
		c.at = min(2*c.at, c.most)
	}
	defer func() { c.last = time.Now() }()
	if restart {
		return c.restart(left)
	}
	_, _, err = walState(c.conn, passiveCheckpoint)
	return err == nil
}

// restart copies all of the WAL, of which some pages are left, so that the next commit can begin it again.
func (c *checkpointer) restart(left int64) bool {
	// Each pass leaves what commits have added meanwhile, which is less each time, but never nothing: a
	// sync takes its time.
	for before := 2 * left; left > c.at/32 && left <= before/2; {
		before = left
		_, _, err := walState(c.conn, passiveCheckpoint)
		if err == nil {
			_, left, err = walState(c.conn, lookAtWAL)
		}
		if err != nil {
			return false
		}
	}
	if left > c.at/2 {
		return false // a read needs the WAL as it is, or the disk is too slow
	}
	conn, err := c.store.writer.take(context.Background())
	if err != nil {
		return false
	}
	defer c.store.writer.put(conn)
	_, left, err = walState(conn, passiveCheckpoint)
	return err == nil && left == 0
}

var (
	lookAtWAL         = newStatement(`PRAGMA wal_checkpoint(NOOP)`)
	passiveCheckpoint = newStatement(`PRAGMA wal_checkpoint(PASSIVE)`)
)

// walState runs a checkpoint and returns how many pages the WAL had when it began, and how many of
// them are not in the file when it ends. The error is busy while another connection is in a checkpoint.
func walState(run *session, checkpoint *statement) (frames, left int64, err error) {
	row, err := readRow(context.Background(), run, checkpoint)
	if err != nil {
		return 0, 0, err
	}
	if frames = asInt(row[1]); frames < 0 {
		return 0, 0, errCheckpointBusy
	}
	return frames, frames - asInt(row[2]), nil
}
