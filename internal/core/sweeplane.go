package core

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/rules"
	"github.com/calldibs/dibs/internal/wake"
)

const (
	// sweepFew is how many records are swept at once by a commit of their own while callers call, and
	// how many make it worth to join a commit of theirs.
	sweepFew = 32
	// sweepMany is how many records are swept at once while there are no calls. More of them would save
	// little, and the first call to come waits for all.
	sweepMany = 512

	// callersShare is how many times as long as its turn took the sweeper rests at most: callers that
	// are too few to be joined do not stop it.
	callersShare = 3
)

// sweepLane commits sweeps beside the batches of callers, in turns. While there are no calls, the turns
// follow each other and grow. While callers call, a turn decides some records on a Load of its own
// and joins a commit of callers, see [joinedStore]; then the lane rests until the callers have had
// their share. Batches of callers still go on without a Load.
type sweepLane struct {
	*writer
	committer *committer
	commits   *wake.List
	batches   chan *sweepBatch
	atOnce    int // how many commits the engine takes at once

	size int    // how many records a commit of the last turn swept
	seen uint64 // how many batches of callers were over when the last turn began

	joins  bool      // whether the turn joins commits of callers
	latest time.Time // when the next turn begins in any case
}

// traffic is what the writer tells the lane about callers.
type traffic struct {
	batches  atomic.Uint64 // that are over
	underWay atomic.Int64  // batches
}

func (t *traffic) begin() { t.underWay.Add(1) }

func (t *traffic) end() {
	t.batches.Add(1)
	t.underWay.Add(-1)
}

// sweepBatch is records to sweep. The jobs belong to the lane until done is closed.
type sweepBatch struct {
	ctx   context.Context
	jobs  []*rules.Job[rules.Swept]
	calls []*call
	err   *dibs.Error // why calls have no answer
	done  chan struct{}
}

func newSweepLane(w *writer, store dibs.Store, ends *pastEnds, commits *wake.List, atOnce int) *sweepLane {
	l := &sweepLane{writer: w, commits: commits, batches: make(chan *sweepBatch), atOnce: atOnce, size: sweepFew / 2}
	l.committer = &committer{store: sweptStore{store, w.joined, func() bool { return l.joins }, w.committer.guesses}, ends: ends, activity: w.committer.activity}
	w.running.Go(l.run)
	return l
}

// sweep sweeps the records of these refs and returns the batch with the answers.
func (l *sweepLane) sweep(ctx context.Context, set *rules.Policies, refs []dibs.Ref) (*sweepBatch, *dibs.Error) {
	b := &sweepBatch{
		ctx: ctx, jobs: make([]*rules.Job[rules.Swept], len(refs)), calls: make([]*call, len(refs)), done: make(chan struct{}),
	}
	for i, ref := range refs {
		b.jobs[i] = set.Sweep(ref)
		b.calls[i] = newCall(b.jobs[i].Request, true)
		b.calls[i].ctx = ctx
	}
	select {
	case l.batches <- b:
	case <-ctx.Done():
		return nil, dibs.Unavailable(ctx.Err())
	case <-l.closing:
		return nil, dibs.Unavailable(dibs.ErrClosed)
	}
	select {
	case <-b.done:
		return b, b.err
	case <-ctx.Done():
		return nil, dibs.OutcomeUnknown(ctx.Err())
	}
}

// run sweeps batches until the writer closes.
func (l *sweepLane) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	woken := l.commits.Subscribe(ctx)
	for {
		select {
		case b := <-l.batches:
			if l.called() { // possibly long ago: start with few
				l.size, l.seen = sweepFew/2, l.traffic.batches.Load()
			}
			for left := b.calls; len(left) > 0 && b.err == nil; {
				if b.err = l.rest(b.ctx, woken); b.err == nil {
					left = left[l.take(left):]
				}
			}
			close(b.done)
		case <-l.closing:
			return
		}
	}
}

// called reports whether a batch of callers has ended since the last turn began, or calls wait.
func (l *sweepLane) called() bool {
	return l.traffic.batches.Load() > l.seen || l.traffic.underWay.Load() > 0 || len(l.queue) > 0
}

// take sweeps the first of these calls in one turn, and returns how many.
func (l *sweepLane) take(calls []*call) int {
	start, commits := time.Now(), 1
	if l.joins = l.called(); l.joins {
		room, _ := l.joined.room()
		l.size = min(max(room, sweepFew), sweepMany)
	} else {
		l.size, commits = min(2*l.size, sweepMany), l.atOnce
	}
	l.seen = l.traffic.batches.Load()
	calls = calls[:min(len(calls), l.size*commits)]
	var turn sync.WaitGroup
	for part := range slices.Chunk(calls, l.size) {
		turn.Go(func() { l.commitBy(l.committer, part) })
	}
	turn.Wait()
	l.latest = time.Time{}
	if l.called() {
		l.latest = time.Now().Add(callersShare * time.Since(start))
	}
	return len(calls)
}

// rest waits until the next turn may begin.
func (l *sweepLane) rest(ctx context.Context, woken <-chan struct{}) *dibs.Error {
	pause := time.NewTimer(time.Until(l.latest))
	defer pause.Stop()
	for over := l.latest.IsZero(); ; {
		_, enough := l.joined.room()
		switch {
		case ctx.Err() != nil:
			return dibs.Unavailable(ctx.Err())
		case over || enough:
			return nil
		}
		select {
		case <-woken:
		case <-pause.C:
			over = true
		case <-ctx.Done():
		case <-l.closing:
			return dibs.Unavailable(dibs.ErrClosed)
		}
	}
}
