package coretest

import (
	"context"
	"sync"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// GatedStore lets a test decide what becomes of each commit.
type GatedStore struct {
	dibs.Store

	mu     sync.Mutex
	commit func(commit func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error)
	count  int
}

func NewGatedStore() *GatedStore {
	return &GatedStore{Store: memstore.New(memstore.Config{})}
}

// Gate replaces what Commit does; nil lets commits through.
func (s *GatedStore) Gate(fn func(commit func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commit = fn
}

func (s *GatedStore) Commits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

func (s *GatedStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
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

// StrictStore is a memstore that looks whether the registry keeps its side of the
// contract.
type StrictStore struct {
	*memstore.Store
	T *testing.T
}

func (s StrictStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	written := make(map[dibs.Ref]int) // by which group
	for i, g := range groups {
		for _, w := range g.Writes {
			if _, twice := written[w.Record.Ref()]; twice {
				s.T.Errorf("%+v is written twice in one commit", w.Record.Ref())
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
				s.T.Errorf("%+v is read by one group and written by another", r.Ref)
			case !changed && r.Rev == 0:
				s.T.Errorf("a group rests on the absence of %+v, and does not write it", r.Ref)
			}
		}
		for _, w := range g.Writes {
			if !read[w.Record.Ref()] {
				s.T.Errorf("%+v is written without being read", w.Record.Ref())
			}
			if !w.Renew {
				s.sameIdentity(ctx, w.Record, revs[w.Record.Ref()])
			}
		}
	}
	return s.Store.Commit(ctx, groups)
}

// sameIdentity looks whether a record is still what it was when it was read.
func (s StrictStore) sameIdentity(ctx context.Context, record dibs.Record, rev uint64) {
	present, err := s.Load(ctx, []dibs.Ref{record.Ref()})
	if err != nil || len(present.Records) == 0 || present.Records[0].Revision() != rev {
		return
	}
	switch was := present.Records[0].(type) {
	case *dibs.NameRecord:
		if is := record.(*dibs.NameRecord); was.Key() != is.Key() {
			s.T.Errorf("%s becomes %s, and is not renewed", was.Key(), is.Key())
		}
	case *dibs.EntityRecord:
		if is := record.(*dibs.EntityRecord); was.Entity != is.Entity {
			s.T.Errorf("%s becomes %s, and is not renewed", was.Entity, is.Entity)
		}
	}
}

// Block makes every commit wait until the returned function is called.
func Block(store *GatedStore) (release func()) {
	gate := make(chan struct{})
	store.Gate(func(commit func() ([]dibs.Outcome, error)) ([]dibs.Outcome, error) {
		<-gate
		return commit()
	})
	return func() { close(gate) }
}
