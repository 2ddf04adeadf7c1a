package sqlitestore

import (
	"context"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// newCheckpointed returns a store, a checkpointer that begins early and runs when it is called, and a
// function that commits names.
func newCheckpointed(t *testing.T) (s *Store, c *checkpointer, commit func()) {
	t.Helper()
	s = newTest(t)
	c = &checkpointer{store: s, conn: s.writer.another(), at: 100}
	t.Cleanup(func() { _ = c.conn.close() })
	made := 0
	commit = func() {
		t.Helper()
		var groups []dibs.Group
		for range 10 {
			groups = append(groups, insertGroup(heldName(numbered(made))))
			made++
		}
		mustCommit(t, s, groups...)
	}
	t.Cleanup(func() {
		stats, err := s.Count(context.Background(), 0)
		if err != nil || len(stats.Names) != 1 || stats.Names[0].Count != made {
			t.Errorf("%+v, %v, want %d names", stats, err, made)
		}
		if state := pragma(t, s, "integrity_check"); state != "ok" {
			t.Error(state)
		}
	})
	return s, c, commit
}

// idle stops the store's own checkpointer: while it looks at the WAL, another one cannot copy all of it.
func idle(t *testing.T, s *Store) {
	t.Helper()
	if err := s.checkpoints.close(); err != nil {
		t.Fatal(err)
	}
	s.checkpoints = &checkpointer{conn: s.writer.another(), stopping: make(chan struct{}), stopped: s.checkpoints.stopped}
}

// walOf returns how many pages the WAL has, and how many of them are not in the file.
func walOf(t *testing.T, c *checkpointer) (frames, left int64) {
	t.Helper()
	frames, left, err := walState(c.conn, lookAtWAL)
	if err != nil {
		t.Fatal(err)
	}
	return frames, left
}

// The checkpointer copies a WAL that is long enough, and a longer one begins again with the next
// commit, but not while a read needs it.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	s, c, commit := newCheckpointed(t)
	idle(t, s)
	commit()
	if frames, left := walOf(t, c); !c.checkpoint() || left != frames {
		t.Errorf("%d of %d pages are left of a WAL that is short", left, frames)
	}
	for left := int64(0); left < c.at; _, left = walOf(t, c) {
		commit()
	}
	before, _ := walOf(t, c)
	if !c.checkpoint() {
		t.Error("it failed")
	}
	if frames, left := walOf(t, c); frames != before || left != 0 {
		t.Errorf("%d of %d pages are left, want none of %d", left, frames, before)
	}
	for frames := int64(0); frames < restartAt*c.at; frames, _ = walOf(t, c) {
		commit()
	}
	reader := s.readers.another()
	defer reader.close()
	if err := reader.exec(t.Context(), beginRead); err != nil {
		t.Fatal(err)
	}
	if _, err := readInt(t.Context(), reader, selectVersion); err != nil {
		t.Fatal(err)
	}
	commit()
	if c.checkpoint() {
		t.Error("it copied pages that a read must not see")
	}
	reader.rollback()
	if !c.checkpoint() {
		t.Error("it failed after the read")
	}
	commit()
	if frames, _ := walOf(t, c); frames >= c.at {
		t.Errorf("the WAL has %d pages and did not begin again", frames)
	}
}

// Beside commits, the WAL begins again by itself, time after time.
func TestCheckpointBesideCommits(t *testing.T) {
	t.Parallel()
	s, look, commit := newCheckpointed(t)
	s.checkpoints.at = look.at // it reads this after the first commit
	begun, last := 0, int64(0)
	for deadline := time.Now().Add(time.Minute); begun < 2; {
		commit()
		frames, _, err := walState(look.conn, lookAtWAL)
		if err != nil {
			continue // the checkpointer is at work
		}
		if frames < last {
			begun++
		}
		if last = frames; time.Now().After(deadline) {
			t.Fatalf("the WAL has %d pages, and began again %d times", frames, begun)
		}
	}
}

// A WAL that fills in a short time becomes longer, but not without bound.
func TestLongerWAL(t *testing.T) {
	t.Parallel()
	_, c, commit := newCheckpointed(t)
	c.most = 4 * c.at
	for range 4 {
		for left := int64(0); left < c.at; _, left = walOf(t, c) {
			commit()
		}
		c.last = time.Now().Add(time.Hour) // however slow this machine is
		c.checkpoint()
	}
	if c.at != c.most {
		t.Errorf("a checkpoint is at %d pages, want %d", c.at, c.most)
	}
	before := c.most / 2
	c.at, c.last = before, time.Now().Add(-time.Hour)
	for left := int64(0); left < c.at; _, left = walOf(t, c) {
		commit()
	}
	if c.checkpoint(); c.at != before {
		t.Errorf("after a long time a checkpoint is at %d pages, want %d", c.at, before)
	}
}
