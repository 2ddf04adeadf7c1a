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
	// sweepFew is how many records are swept at once while callers call, or as many as a batch of
	// theirs has if that is more: a call behind them waits hardly longer than behind other calls.
	sweepFew = 32
	// sweepMany is how many records are swept at once while there are no calls. More of them would save
	// little, and the first call to come waits for all.
	sweepMany = 512

	// callersShare is how many calls pass for each record that is swept. Callers that are too few
	// for that do not stop the sweeper: it rests at most this many times as long as its turn took.
	callersShare = 3
)

// sweepLane commits sweeps beside the batches of callers, in turns. While nobody calls, the turns
// follow each other and grow. While callers call, a turn sweeps few records, and then the lane
// rests until the callers have had their share.
//
// The lane decides on a Load of its own, and guesses nothing: batches of callers go on without a
// Load.
type sweepLane struct {
	*writer
	committer *committer
	commits   *wake.List
	batches   chan *sweepBatch
	atOnce    int // how many commits the engine takes at once

	size int    // how many records a commit of the last turn swept
	seen uint64 // how many calls there had been when the last turn began

	// The next turn begins once there have been due calls, and at latest in any case.
	due    uint64
	latest time.Time
}

// traffic is what the writer tells the lane about callers.
type traffic struct {
	calls    atomic.Uint64 // that were in a batch so far
	last     atomic.Int64  // how many the newest batch has
	underWay atomic.Int64  // batches
}

func (t *traffic) begin(calls int) {
	t.calls.Add(uint64(calls))
	t.last.Store(int64(calls))
	t.underWay.Add(1)
}

func (t *traffic) end() { t.underWay.Add(-1) }

// sweepBatch is records to sweep. The jobs belong to the lane until done is closed.
type sweepBatch struct {
	ctx   context.Context
	jobs  []*rules.Job[rules.Swept]
	calls []*call
	err   *dibs.Error // why calls have no answer
	done  chan struct{}
}

func newSweepLane(w *writer, store dibs.Store, ends *pastEnds, commits *wake.List, atOnce int) *sweepLane {
	l := &sweepLane{
		writer: w, commits: commits,
		committer: &committer{store: sweptStore{store, w.committer.guesses}, ends: ends, activity: w.committer.activity},
		batches:   make(chan *sweepBatch), atOnce: atOnce, size: sweepFew / 2,
	}
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
				l.size, l.seen = sweepFew/2, l.traffic.calls.Load()
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

// called reports whether a caller has called since the last turn began, or still waits.
func (l *sweepLane) called() bool {
	return l.traffic.calls.Load() > l.seen || l.traffic.underWay.Load() > 0 || len(l.queue) > 0
}

// take sweeps the first of these calls in one turn, and returns how many.
func (l *sweepLane) take(calls []*call) int {
	start, commits := time.Now(), 1
	if l.called() {
		l.size = min(max(int(l.traffic.last.Load()), sweepFew), sweepMany)
	} else {
		l.size, commits = min(2*l.size, sweepMany), l.atOnce
	}
	l.seen = l.traffic.calls.Load()
	calls = calls[:min(len(calls), l.size*commits)]
	var turn sync.WaitGroup
	for part := range slices.Chunk(calls, l.size) {
		turn.Go(func() { l.commitBy(l.committer, part) })
	}
	turn.Wait()
	l.due, l.latest = 0, time.Time{}
	if l.called() {
		now := time.Now()
		l.due, l.latest = l.seen+uint64(callersShare*len(calls)), now.Add(callersShare*now.Sub(start))
	}
	return len(calls)
}

// rest waits until the next turn may begin.
func (l *sweepLane) rest(ctx context.Context, woken <-chan struct{}) *dibs.Error {
	pause := time.NewTimer(time.Until(l.latest))
	defer pause.Stop()
	for over := false; ; {
		switch {
		case ctx.Err() != nil:
			return dibs.Unavailable(ctx.Err())
		case over || l.traffic.calls.Load() >= l.due:
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

// sweptStore is the engine of a sweep. What callers remember of a record is corrected when the
// record is swept. Swept records that they do not remember would only displace others.
type sweptStore struct {
	dibs.Store
	guesses *guesser
}

func (s sweptStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	outcomes, err := s.Store.Commit(ctx, groups)
	if err == nil && s.guesses != nil && len(outcomes) == len(groups) {
		s.guesses.correct(groups, outcomes)
	}
	return outcomes, err
}

// correct replaces or forgets the remembered records that committed groups have changed.
func (g *guesser) correct(groups []dibs.Group, outcomes []dibs.Outcome) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, group := range groups {
		if outcomes[i] != dibs.Committed {
			continue
		}
		for _, w := range group.Writes {
			key := rules.KeyOf(w.Record.Ref())
			switch _, remembered := g.records.Get(key); {
			case remembered && w.Delete:
				g.records.Delete(key)
			case remembered:
				g.put(w.Record, now)
			}
		}
	}
}
