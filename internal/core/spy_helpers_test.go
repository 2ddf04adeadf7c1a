package core_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// spy is a store that lets a test stand between the registry and the engine.
type spy struct {
	dibs.Store
	load   func() error
	commit func(groups []dibs.Group) ([]dibs.Outcome, error) // nil: the engine decides
	due    []dibs.Ref                                        // nil: those that are
}

func (s *spy) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	if s.due != nil {
		return s.due, nil
	}
	return s.Store.Due(ctx, limit)
}

func (s *spy) Load(ctx context.Context, refs []dibs.Ref) (dibs.Snapshots, error) {
	if s.load != nil {
		if err := s.load(); err != nil {
			return dibs.Snapshots{}, err
		}
	}
	return s.Store.Load(ctx, refs)
}

func (s *spy) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if s.commit != nil {
		return s.commit(groups)
	}
	return s.Store.Commit(ctx, groups)
}

func newSpy(t *testing.T) (*fixture, *spy) {
	t.Helper()
	c := newClock()
	engine := memstore.New(memstore.Config{Now: c.Now})
	s := &spy{Store: strictStore{engine, t}}
	r := mustOpen(t, s, dibs.Config{Suggestions: -1})
	return &fixture{Registry: r, t: t, ctx: t.Context(), store: engine, clock: c}, s
}

// asked is a command under way.
type asked struct {
	results []dibs.Result
	err     error
}

// together runs each list of commands by a caller of its own, in this order, so that
// all of them get into one batch behind a commit that is under way. A nil list is a sweep.
// before sees that batch's groups, and may say how it ends.
func together(t *testing.T, f *fixture, s *spy, before func([]dibs.Group) ([]dibs.Outcome, error), dry map[int]bool, lists ...[]dibs.Command) []*asked {
	t.Helper()
	gate := make(chan struct{})
	first := true
	s.commit = func(groups []dibs.Group) ([]dibs.Outcome, error) {
		if first {
			first = false
			<-gate
		} else if outcomes, err := before(groups); outcomes != nil || err != nil {
			return outcomes, err
		}
		return s.Store.Commit(context.Background(), groups)
	}
	var group sync.WaitGroup
	group.Go(func() { f.must(claim("warm", dibs.NewToken(), dibs.Entity{Type: "warm", ID: dibs.NewToken()})) })
	synctest.Wait()
	answers := make([]*asked, len(lists))
	for i, list := range lists {
		answers[i] = new(asked)
		group.Go(func() {
			if list == nil {
				_, answers[i].err = f.Sweep(f.ctx, 10)
				return
			}
			run := f.Apply
			if dry[i] {
				run = f.DryRun
			}
			answers[i].results, answers[i].err = run(f.ctx, list...)
		})
		synctest.Wait()
	}
	close(gate)
	group.Wait()
	return answers
}

// once returns a commit before which something happens, the first time.
func (f *fixture) once(s *spy, happens func()) func([]dibs.Group) ([]dibs.Outcome, error) {
	first := true
	return func(groups []dibs.Group) ([]dibs.Outcome, error) {
		if first {
			first = false
			happens()
		}
		return s.Store.Commit(context.Background(), groups)
	}
}
