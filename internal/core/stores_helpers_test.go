package core_test

import (
	"context"
	"sync"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// gatedStore lets a test decide what becomes of each commit.
type gatedStore struct {
	dibs.Store

	mu     sync.Mutex
	commit func(commit func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error)
	count  int
}

func newGatedStore() *gatedStore {
	return &gatedStore{Store: memstore.New(memstore.Config{})}
}

// gate replaces what Commit does; nil lets commits through.
func (s *gatedStore) gate(fn func(commit func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commit = fn
}

func (s *gatedStore) commits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

func (s *gatedStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	s.mu.Lock()
	fn := s.commit
	s.count++
	s.mu.Unlock()
	through := func() ([]dibs.Outcome, error) { return s.Store.Commit(ctx, groups) }
	if fn == nil {
		return through()
	}
	return fn(through)
}

// strictStore is a memstore that looks whether the registry keeps its side of the
// contract.
type strictStore struct {
	*memstore.Store
	t *testing.T
}

func (s strictStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	written := make(map[dibs.Ref]int) // by which group
	for i, g := range groups {
		for _, w := range g.Writes {
			if _, twice := written[w.Record.Ref()]; twice {
				s.t.Errorf("%+v is written twice in one commit", w.Record.Ref())
			}
			written[w.Record.Ref()] = i
		}
	}
	for i, g := range groups {
		read := make(map[dibs.Ref]bool)
		revs := make(map[dibs.Ref]uint64)
		for _, r := range g.Reads {
			read[r.Ref], revs[r.Ref] = true, r.Rev
			switch by, changed := written[r.Ref]; {
			case changed && by != i:
				s.t.Errorf("%+v is read by one group and written by another", r.Ref)
			case !changed && r.Rev == 0:
				s.t.Errorf("a group rests on the absence of %+v, and does not write it", r.Ref)
			}
		}
		for _, w := range g.Writes {
			if !read[w.Record.Ref()] {
				s.t.Errorf("%+v is written without being read", w.Record.Ref())
			}
			if !w.Renew {
				s.sameIdentity(ctx, w.Record, revs[w.Record.Ref()])
			}
		}
	}
	return s.Store.Commit(ctx, groups)
}

// sameIdentity looks whether a record is still what it was when it was read.
func (s strictStore) sameIdentity(ctx context.Context, record dibs.Record, rev uint64) {
	present, err := s.Load(ctx, []dibs.Ref{record.Ref()})
	if err != nil || len(present.Records) == 0 || present.Records[0].Revision() != rev {
		return
	}
	switch was := present.Records[0].(type) {
	case *dibs.NameRecord:
		if is := record.(*dibs.NameRecord); was.Key() != is.Key() {
			s.t.Errorf("%s becomes %s, and is not renewed", was.Key(), is.Key())
		}
	case *dibs.EntityRecord:
		if is := record.(*dibs.EntityRecord); was.Entity != is.Entity {
			s.t.Errorf("%s becomes %s, and is not renewed", was.Entity, is.Entity)
		}
	}
}

// block makes every commit wait until the returned function is called.
func block(store *gatedStore) (release func()) {
	gate := make(chan struct{})
	store.gate(func(commit func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error) {
		<-gate
		return commit()
	})
	return func() { close(gate) }
}
