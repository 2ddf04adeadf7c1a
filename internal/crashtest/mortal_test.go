//go:build unix

package crashtest_test

import (
	"context"
	"iter"
	"sync"
	"syscall"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/internal/snapshot"
)

// step is one step of a flow: a call to an engine, or something that the program does outside of
// the registry.
type step struct {
	Name  string `json:"name"`
	Write bool   `json:"write,omitempty"` // it may change something
}

// life counts the steps of this process, and ends it at one of them.
type life struct {
	dies  int  // at this step, from 1 on; 0 means never
	after bool // the step happens first

	mu    sync.Mutex
	steps []step
	wake  chan struct{} // closed by the next step
}

// do does a step, unless the process is killed before it. The life of a process that counts
// nothing is nil.
func do[T any](l *life, s step, act func() (T, error)) (T, error) {
	if l == nil {
		return act()
	}
	n := l.begin(s)
	if n == l.dies && !l.after {
		die()
	}
	result, err := act()
	if n == l.dies {
		die()
	}
	return result, err
}

func (l *life) begin(s step) (number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = append(l.steps, s)
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
	return len(l.steps)
}

// next returns a channel that is closed when the next step begins.
func (l *life) next() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wake == nil {
		l.wake = make(chan struct{})
	}
	return l.wake
}

// die ends the process as kill -9 does.
func die() {
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {} // until the signal arrives
}

func write(name string) step { return step{Name: name, Write: true} }
func read(name string) step  { return step{Name: name} }

// nothing is the result of a call that has only an error.
type nothing struct{}

func doOnly(l *life, s step, act func() error) error {
	_, err := do(l, s, func() (nothing, error) { return nothing{}, act() })
	return err
}

// mortal is a store whose calls are steps of a life. Clock and Parallel ask the engine nothing and
// are passed on, so that the registry does what it does without it; a Waker is only a hint, and is
// not.
type mortal struct {
	dibs.Store
	life *life
}

var (
	_ dibs.Binder     = (*mortal)(nil)
	_ dibs.Clock      = (*mortal)(nil)
	_ dibs.Parallel   = (*mortal)(nil)
	_ snapshot.Source = (*mortal)(nil)
	_ record.Fencer   = (*mortal)(nil)
)

// scrubbing is a mortal store on an engine that can scrub.
type scrubbing struct{ *mortal }

// newMortal counts the calls to a store.
func newMortal(store dibs.Store, l *life) dibs.Store {
	m := &mortal{store, l}
	if _, ok := store.(dibs.Scrubber); ok {
		return scrubbing{m}
	}
	return m
}

func (m *mortal) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	return do(m.life, read("Load"), func() (dibs.LoadResult, error) { return m.Store.Load(ctx, refs) })
}

func (m *mortal) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	return do(m.life, write("Commit"), func() ([]dibs.Outcome, error) { return m.Store.Commit(ctx, groups) })
}

func (m *mortal) Await(ctx context.Context, refs []dibs.Ref, end dibs.Instant) error {
	return doOnly(m.life, read("Await"), func() error { return m.Store.Await(ctx, refs, end) })
}

func (m *mortal) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	return do(m.life, read("Due"), func() ([]dibs.Ref, error) { return m.Store.Due(ctx, limit) })
}

func (m *mortal) Owned(ctx context.Context, scope string, entity dibs.Entity, limit int) ([]*dibs.NameRecord, error) {
	return do(m.life, read("Owned"), func() ([]*dibs.NameRecord, error) { return m.Store.Owned(ctx, scope, entity, limit) })
}

func (m *mortal) List(ctx context.Context, query dibs.ListQuery) ([]dibs.Record, error) {
	return do(m.life, read("List"), func() ([]dibs.Record, error) { return m.Store.List(ctx, query) })
}

func (m *mortal) Count(ctx context.Context, soon dibs.Instant) (dibs.Stats, error) {
	return do(m.life, read("Count"), func() (dibs.Stats, error) { return m.Store.Count(ctx, soon) })
}

func (m *mortal) Events(ctx context.Context, query dibs.EventQuery) ([]dibs.Event, error) {
	return do(m.life, read("Events"), func() ([]dibs.Event, error) { return m.Store.Events(ctx, query) })
}

func (m *mortal) Latest(ctx context.Context) (dibs.Cursor, error) {
	return do(m.life, read("Latest"), func() (dibs.Cursor, error) { return m.Store.Latest(ctx) })
}

func (m scrubbing) Scrub(ctx context.Context) error {
	return doOnly(m.life, write("Scrub"), func() error { return m.Store.(dibs.Scrubber).Scrub(ctx) })
}

func (m *mortal) Fence(ctx context.Context, place string) error {
	return doOnly(m.life, write("Fence"), func() error { return m.Store.(record.Fencer).Fence(ctx, place) })
}

func (m *mortal) Unfence(ctx context.Context) error {
	return doOnly(m.life, write("Unfence"), func() error { return m.Store.(record.Fencer).Unfence(ctx) })
}

// continuing is what both engines offer to a copier.
type continuing interface {
	ContinueAfter(ctx context.Context, cursor dibs.Cursor) error
}

func (m *mortal) ContinueAfter(ctx context.Context, cursor dibs.Cursor) error {
	return doOnly(m.life, write("ContinueAfter"), func() error { return m.Store.(continuing).ContinueAfter(ctx, cursor) })
}

func (m *mortal) Bind(bind func(dibs.Store) (dibs.Store, error)) (dibs.Store, error) {
	bound, err := bind(m.Store)
	if err != nil {
		return nil, err
	}
	return newMortal(bound, m.life), nil
}

func (m *mortal) Now() (dibs.Instant, bool) {
	if clock, ok := m.Store.(dibs.Clock); ok {
		return clock.Now()
	}
	return 0, false
}

func (m *mortal) Writers() int {
	if parallel, ok := m.Store.(dibs.Parallel); ok {
		return parallel.Writers()
	}
	return 1
}

func (m *mortal) Snapshot(ctx context.Context) (snapshot.View, error) {
	view, err := do(m.life, read("Snapshot"), func() (snapshot.View, error) { return snapshot.Take(ctx, m.Store) })
	return mortalView{view, m.life}, err
}

// mortalView is a view whose reads are steps. An iterator is one step, however long it is.
type mortalView struct {
	snapshot.View
	life *life
}

func (v mortalView) Records(ctx context.Context, table snapshot.Table) iter.Seq2[dibs.Record, error] {
	all, _ := do(v.life, read("Records"), func() (iter.Seq2[dibs.Record, error], error) { return v.View.Records(ctx, table), nil })
	return all
}

func (v mortalView) Events(ctx context.Context, after dibs.Cursor) iter.Seq2[dibs.Event, error] {
	all, _ := do(v.life, read("Events"), func() (iter.Seq2[dibs.Event, error], error) { return v.View.Events(ctx, after), nil })
	return all
}

func (v mortalView) Load(ctx context.Context, refs []dibs.Ref) ([]dibs.Record, error) {
	return do(v.life, read("Load"), func() ([]dibs.Record, error) { return v.View.Load(ctx, refs) })
}
