package coretest

import (
	"context"
	"fmt"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// StrictStore is a memstore that checks that the registry keeps its side of the Store contract.
type StrictStore struct {
	*memstore.Store
	T *testing.T
}

// Load checks, when the test ends, that nothing has changed the loaded records: the decisions of a
// batch share them, and so do later batches.
func (s StrictStore) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	result, err := s.Store.Load(ctx, refs)
	for _, r := range result.Records {
		if e, ok := r.(*dibs.EntityRecord); ok && len(e.Active) > 32 {
			continue // to print a thousand names for each of a thousand commands takes long
		}
		before := fmt.Sprintf("%+v", r)
		s.T.Cleanup(func() {
			if after := fmt.Sprintf("%+v", r); after != before {
				s.T.Errorf("a loaded record was changed: it was %s, and is %s", before, after)
			}
		})
	}
	return result, err
}

// Commit checks the groups before the engine commits them.
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
				s.T.Errorf("a group depends on the absence of %+v and does not write it", r.Ref)
			}
		}
		for _, w := range g.Writes {
			if !read[w.Record.Ref()] {
				s.T.Errorf("%+v is written without being read", w.Record.Ref())
			}
			s.sameState(ctx, w, revs[w.Record.Ref()])
			if !w.Renew {
				s.sameIdentity(ctx, w.Record, revs[w.Record.Ref()])
			}
		}
	}
	return s.Store.Commit(ctx, groups)
}

// sameState checks that a write says which state a name was in: engines count names by it.
func (s StrictStore) sameState(ctx context.Context, w dibs.Write, rev uint64) {
	if _, isName := w.Record.(*dibs.NameRecord); !isName {
		if w.Was != "" {
			s.T.Errorf("%+v was %q, and is no name", w.Record.Ref(), w.Was)
		}
		return
	}
	present, err := s.Store.Load(ctx, []dibs.Ref{w.Record.Ref()})
	want := dibs.Free
	switch {
	case err != nil:
		return
	case len(present.Records) > 0 && present.Records[0].Revision() != rev: // it will be stale
		return
	case len(present.Records) > 0:
		want = present.Records[0].(*dibs.NameRecord).State
	case rev != 0:
		return
	}
	if w.Was != want {
		s.T.Errorf("%+v was %q, and the write says %q", w.Record.Ref(), want, w.Was)
	}
}

// sameIdentity checks that a write without Renew keeps the name or the entity of its record.
func (s StrictStore) sameIdentity(ctx context.Context, record dibs.Record, rev uint64) {
	present, err := s.Store.Load(ctx, []dibs.Ref{record.Ref()})
	if err != nil || len(present.Records) == 0 || present.Records[0].Revision() != rev {
		return
	}
	switch was := present.Records[0].(type) {
	case *dibs.NameRecord:
		if is := record.(*dibs.NameRecord); was.Key() != is.Key() {
			s.T.Errorf("%s becomes %s without Renew", was.Key(), is.Key())
		}
	case *dibs.EntityRecord:
		if is := record.(*dibs.EntityRecord); was.Entity != is.Entity {
			s.T.Errorf("%s becomes %s without Renew", was.Entity, is.Entity)
		}
	}
}
