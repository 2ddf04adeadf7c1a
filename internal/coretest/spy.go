package coretest

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/memstore"
)

// Spy is a store that lets a test replace calls of the engine. Its fields may change between
// calls, not during one.
type Spy struct {
	dibs.Store
	OnLoad   func() error                                      // runs before Load; an error is Load's answer
	OnCommit func(groups []dibs.Group) ([]dibs.Outcome, error) // replaces Commit; nil means the engine's
	DueRefs  []dibs.Ref                                        // replaces the answer of Due; nil means the engine's
}

// Due returns DueRefs, or what the engine says.
func (s *Spy) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	if s.DueRefs != nil {
		return s.DueRefs, nil
	}
	return s.Store.Due(ctx, limit)
}

// Load runs OnLoad, and then loads.
func (s *Spy) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	if s.OnLoad != nil {
		if err := s.OnLoad(); err != nil {
			return dibs.LoadResult{}, err
		}
	}
	return s.Store.Load(ctx, refs)
}

// Commit runs OnCommit, or commits.
func (s *Spy) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if s.OnCommit != nil {
		return s.OnCommit(groups)
	}
	return s.Store.Commit(ctx, groups)
}

// NewSpy returns a fixture whose registry has these policies and a spy in front of its engine.
func NewSpy(t *testing.T, policies map[string]dibs.Policy) (*Fixture, *Spy) {
	t.Helper()
	s := new(Spy)
	f := NewFixtureOn(t, dibs.Config{Suggestions: -1, Policies: policies}, func(engine *memstore.Store) dibs.Store {
		s.Store = StrictStore{Store: engine, T: t}
		return s
	})
	return f, s
}

// LastGroups makes the spy keep the groups of the latest commit, and returns where they are.
func (s *Spy) LastGroups() *[]dibs.Group {
	last := new([]dibs.Group)
	s.OnCommit = func(groups []dibs.Group) ([]dibs.Outcome, error) {
		*last = groups
		return s.Store.Commit(context.Background(), groups)
	}
	return last
}

// BeforeFirst returns a function for OnCommit that runs fn before the first commit only.
func (s *Spy) BeforeFirst(fn func()) func(groups []dibs.Group) ([]dibs.Outcome, error) {
	first := true
	return func(groups []dibs.Group) ([]dibs.Outcome, error) {
		if first {
			first = false
			fn()
		}
		return s.Store.Commit(context.Background(), groups)
	}
}

// Answer is what a caller in a batch was told.
type Answer struct {
	Results []dibs.Result
	Err     error
}

// InOneBatch runs each list of commands for a caller of its own, so that all of them are decided
// in this order in one batch. A nil list is a Sweep, a list whose index is in dry a dry run. Before
// each commit of that batch it calls before, whose answer, unless nil, replaces the engine's. It
// must run in a synctest bubble.
func InOneBatch(f *Fixture, s *Spy, before func([]dibs.Group) ([]dibs.Outcome, error), dry map[int]bool, lists ...[]dibs.Command) []*Answer {
	f.T.Helper()
	// The commit of an unrelated claim is held up until all callers wait for the next batch.
	release := make(chan struct{})
	first := true
	s.OnCommit = func(groups []dibs.Group) ([]dibs.Outcome, error) {
		if first {
			first = false
			<-release
		} else if outcomes, err := before(groups); outcomes != nil || err != nil {
			return outcomes, err
		}
		return s.Store.Commit(context.Background(), groups)
	}
	var callers sync.WaitGroup
	callers.Go(func() { f.Must(Claim("warm", dibs.NewToken(), dibs.Entity{Type: "warm", ID: dibs.NewToken()})) })
	synctest.Wait()
	answers := make([]*Answer, len(lists))
	for i, list := range lists {
		answers[i] = new(Answer)
		callers.Go(func() {
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
	close(release)
	callers.Wait()
	return answers
}

// StopStore calls Stop during the commit number At, which still happens. Close does nothing.
type StopStore struct {
	dibs.Store
	At   int
	Stop func()
}

// Commit counts down, and commits.
func (s *StopStore) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	if s.At--; s.At == 0 {
		defer s.Stop()
	}
	return s.Store.Commit(ctx, groups)
}

// Close leaves the engine open.
func (s *StopStore) Close() error { return nil }
