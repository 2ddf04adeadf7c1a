package coretest

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// Spy is a store that lets a test stand between the registry and the engine.
type Spy struct {
	dibs.Store
	OnLoad   func() error
	OnCommit func(groups []dibs.Group) ([]dibs.Outcome, error) // nil: the engine decides
	DueRefs  []dibs.Ref                                        // nil: those that are
}

func (s *Spy) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	if s.DueRefs != nil {
		return s.DueRefs, nil
	}
	return s.Store.Due(ctx, limit)
}

func (s *Spy) Load(ctx context.Context, refs []dibs.Ref) (dibs.Snapshots, error) {
	if s.OnLoad != nil {
		if err := s.OnLoad(); err != nil {
			return dibs.Snapshots{}, err
		}
	}
	return s.Store.Load(ctx, refs)
}

func (s *Spy) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if s.OnCommit != nil {
		return s.OnCommit(groups)
	}
	return s.Store.Commit(ctx, groups)
}

func NewSpy(t *testing.T) (*Fixture, *Spy) {
	t.Helper()
	c := NewClock()
	engine := memstore.New(memstore.Config{Now: c.Now})
	s := &Spy{Store: StrictStore{engine, t}}
	r := MustOpen(t, s, dibs.Config{Suggestions: -1})
	return &Fixture{Registry: r, T: t, Ctx: t.Context(), Engine: engine, Clock: c}, s
}

// asked is a command under way.
type asked struct {
	Results []dibs.Result
	Err     error
}

// Together runs each list of commands by a caller of its own, in this order, so that
// all of them get into one batch behind a commit that is under way. A nil list is a sweep.
// before sees that batch's groups, and may say how it ends.
func Together(t *testing.T, f *Fixture, s *Spy, before func([]dibs.Group) ([]dibs.Outcome, error), dry map[int]bool, lists ...[]dibs.Command) []*asked {
	t.Helper()
	gate := make(chan struct{})
	first := true
	s.OnCommit = func(groups []dibs.Group) ([]dibs.Outcome, error) {
		if first {
			first = false
			<-gate
		} else if outcomes, err := before(groups); outcomes != nil || err != nil {
			return outcomes, err
		}
		return s.Store.Commit(context.Background(), groups)
	}
	var group sync.WaitGroup
	group.Go(func() { f.Must(Claim("warm", dibs.NewToken(), dibs.Entity{Type: "warm", ID: dibs.NewToken()})) })
	synctest.Wait()
	answers := make([]*asked, len(lists))
	for i, list := range lists {
		answers[i] = new(asked)
		group.Go(func() {
			if list == nil {
				_, answers[i].Err = f.Sweep(f.Ctx, 10)
				return
			}
			run := f.Apply
			if dry[i] {
				run = f.DryRun
			}
			answers[i].Results, answers[i].Err = run(f.Ctx, list...)
		})
		synctest.Wait()
	}
	close(gate)
	group.Wait()
	return answers
}

// Once returns a commit before which something happens, the first time.
func (f *Fixture) Once(s *Spy, happens func()) func([]dibs.Group) ([]dibs.Outcome, error) {
	first := true
	return func(groups []dibs.Group) ([]dibs.Outcome, error) {
		if first {
			first = false
			happens()
		}
		return s.Store.Commit(context.Background(), groups)
	}
}
