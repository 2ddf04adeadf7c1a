package linear

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// late is a sound store in which some commits are slow: they check the clock, and become
// visible only after a while, longer than holds last. Until then the records they write
// are locked, and the records they read cannot change.
type late struct {
	dibs.Store

	mu     sync.Mutex
	reads  map[dibs.ID]int // by the number of commits in progress
	writes map[dibs.ID]int
}

func newLate() *late {
	return &late{Store: memstore.New(memstore.Config{}), reads: make(map[dibs.ID]int), writes: make(map[dibs.ID]int)}
}

func (s *late) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	outcomes := make([]dibs.Outcome, len(groups))
	var begun []int
	for i, g := range groups {
		switch {
		case !s.lock(g):
			outcomes[i] = dibs.Busy
		case !g.Window.Contains(dibs.InstantOf(time.Now())):
			s.unlock(g)
		default:
			begun = append(begun, i)
		}
	}
	if rand.IntN(4) == 0 {
		time.Sleep(rand.N(200 * time.Millisecond))
	}
	for _, i := range begun {
		g := groups[i]
		g.Window = dibs.Window{} // it was checked
		found, err := s.Store.Commit(ctx, []dibs.Group{g})
		s.unlock(g)
		if err != nil {
			return nil, err
		}
		outcomes[i] = found[0]
	}
	return outcomes, nil
}

// lock locks the records of a group, unless it conflicts with a commit in progress.
func (s *late) lock(g dibs.Group) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range g.Reads {
		if s.writes[r.Ref.ID] > 0 {
			return false
		}
	}
	for _, w := range g.Writes {
		if s.reads[w.Record.Ref().ID] > 0 {
			return false
		}
	}
	s.count(g, 1)
	return true
}

func (s *late) unlock(g dibs.Group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(g, -1)
}

func (s *late) count(g dibs.Group, by int) {
	for _, r := range g.Reads {
		s.reads[r.Ref.ID] += by
	}
	for _, w := range g.Writes {
		s.writes[w.Record.Ref().ID] += by
	}
}

// Await waits for the commits in progress on refs.
func (s *late) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	for s.inProgress(refs) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return s.Store.Await(ctx, refs, end)
}

func (s *late) inProgress(refs []dibs.Ref) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ref := range refs {
		if s.writes[ref.ID] > 0 {
			return true
		}
	}
	return false
}
