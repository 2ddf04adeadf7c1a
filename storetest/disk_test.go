package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
)

// disk is data in a memstore with commits that can stall: until one resumes, readers
// see the data without it.
type disk struct {
	dibs.Store
	clock *Clock

	mu     sync.Mutex
	stalls *stall       // the next commit stalls here
	slow   atomic.Int32 // stalled commits
}

// stall makes the next commit stall.
func (d *disk) stall() (stalled <-chan struct{}, resume func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := newStall()
	d.stalls = s
	return s.reached, func() { close(s.resumed) }
}

func (d *disk) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	d.mu.Lock()
	s := d.stalls
	d.stalls = nil
	d.mu.Unlock()
	if s == nil || !groups[0].Window.Contains(dibs.InstantOf(d.clock.Now())) {
		return d.Store.Commit(ctx, groups)
	}
	d.slow.Add(1)
	defer d.slow.Add(-1)
	s.wait()
	late := groups[0]
	late.Window = dibs.Window{} // it was checked in time
	return d.Store.Commit(ctx, []dibs.Group{late})
}

// Await waits until no commit stalls.
func (d *disk) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	for d.slow.Load() > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return d.Store.Await(ctx, refs, end)
}
