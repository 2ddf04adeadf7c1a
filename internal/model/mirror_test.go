package model_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/internal/snapshot"
	"github.com/calldibs/dibs/memstore"
)

// mirror is a registry on memory, and another one on an engine that gets the same requests at the same
// time. All answers, all events and everything that is stored must be the same, except for:
//
//   - cursors, which are positions of an engine. A cursor of memory stands for that of the engine;
//   - the order of records that are due at the same millisecond, which [dibs.Store] leaves open. Both
//     engines get one order here;
//   - empty maps and lists in stored records, which may be nil;
//   - counters of activity and conflicts, which a registry writes when it finds the time.
type mirror struct {
	w       *world
	memory  *memstore.Store
	engine  engine
	cursors map[string]string // of the engine, by those of memory
	clock   int64             // what the engine was told
}

// engine is an empty store whose clock the test moves.
type engine struct {
	name  string
	store dibs.Store
	// set sets its clock. Nil means that it asks the world.
	set   func(now int64) error
	close func()
}

// openEngine opens an engine whose clock shows the time of a world.
type openEngine func(w *world) engine

func newMirror(w *world, memory *memstore.Store, open openEngine) *mirror {
	return &mirror{w: w, memory: memory, engine: open(w), cursors: make(map[string]string)}
}

// open opens a registry that is two.
func (m *mirror) open(cfg dibs.Config) *dibs.Registry {
	var both [2]*dibs.Registry
	for i, store := range []dibs.Store{m.memory, m.engine.store} {
		clock, ok := store.(dibs.Clock)
		if !ok {
			m.w.t.Fatalf("%T has no clock", store)
		}
		registry, err := core.Open(ordered{store, clock}, cfg)
		if err != nil {
			m.w.t.Fatalf("open: %v", err)
		}
		both[i] = registry
	}
	return dibs.NewRegistry(&mirrored{mirror: m, kept: both[0], other: both[1]})
}

// ordered is a store that outlives its registry, and orders what is due by date, kind and id.
type ordered struct {
	dibs.Store
	dibs.Clock
}

func (o ordered) Close() error { return nil }

func (o ordered) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	refs, err := o.Store.Due(ctx, 1000)
	if err != nil {
		return nil, err
	}
	refs = slices.DeleteFunc(refs, func(r dibs.Ref) bool { return isCounter(r.Kind) })
	found, err := o.Load(ctx, refs)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found.Records, func(a, b dibs.Record) int {
		x, y := a.Ref(), b.Ref()
		return cmp.Or(cmp.Compare(record.Due(a), record.Due(b)), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Scope, y.Scope), slices.Compare(x.ID[:], y.ID[:]))
	})
	due := make([]dibs.Ref, 0, limit)
	for _, r := range found.Records[:min(limit, len(found.Records))] {
		due = append(due, r.Ref())
	}
	return due, nil
}

func isCounter(kind dibs.Kind) bool { return kind == dibs.KindActivity || kind == dibs.KindTally }

// mirrored is the backend of a registry that is two.
type mirrored struct {
	*mirror
	kept, other *dibs.Registry // on memory and on the engine
}

// tick tells the engine the time.
func (m *mirror) tick() {
	if m.engine.set == nil || m.clock == m.w.now {
		return
	}
	if err := m.engine.set(m.w.now); err != nil {
		m.w.t.Fatalf("the clock of %s: %v", m.engine.name, err)
	}
	m.clock = m.w.now
}

// ask asks both registries, and returns the answer of the one on memory.
func ask[T any](m *mirrored, what string, call func(*dibs.Registry) (T, error)) (T, error) {
	m.tick()
	want, refused := call(m.kept)
	got, err := call(m.other)
	m.same(what, want, got, refused, err)
	return want, refused
}

// readEvery is how many steps there are between those whose reads are compared: there are many.
const readEvery = 8

// look is ask for reads.
func look[T any](m *mirrored, what string, call func(*dibs.Registry) (T, error)) (T, error) {
	if m.w.observed%readEvery != 0 {
		return call(m.kept)
	}
	return ask(m, what, call)
}

// same fails if two answers differ.
func (m *mirror) same(what string, want, got any, refused, err error) {
	if errorText(refused) != errorText(err) {
		m.w.t.Fatalf("%s: the error on memory is\n  %s\non %s it is\n  %s", what, errorText(refused), m.engine.name, errorText(err))
	}
	if w, g := m.text(want), m.text(got); refused == nil && w != g {
		m.w.t.Fatalf("%s: memory has\n  %s\n%s has\n  %s", what, w, m.engine.name, g)
	}
}

func (m *mirror) text(thing any) string {
	text, err := json.Marshal(thing)
	if err != nil {
		m.w.t.Fatal(err)
	}
	return string(text)
}

// withoutCursors returns events as they are compared.
func withoutCursors(events []dibs.Event) []dibs.Event {
	events = slices.Clone(events)
	for i := range events {
		events[i].Cursor = ""
	}
	return events
}

// learn notes the cursors of events that both have.
func (m *mirror) learn(memory, engine []dibs.Event) {
	for i := range memory {
		m.cursors[string(memory[i].Cursor)] = string(engine[i].Cursor)
	}
}

func (m *mirrored) Apply(ctx context.Context, request dibs.ApplyRequest) ([]dibs.Result, error) {
	return ask(m, "apply", func(reg *dibs.Registry) ([]dibs.Result, error) {
		reg = reg.As(request.Principal)
		if request.DryRun {
			return reg.DryRun(ctx, request.Commands...)
		}
		return reg.Apply(ctx, request.Commands...)
	})
}

func (m *mirrored) ImportAll(ctx context.Context, request dibs.ImportRequest) ([]dibs.Imported, error) {
	return ask(m, "import", func(reg *dibs.Registry) ([]dibs.Imported, error) {
		return reg.As(request.Principal).ImportAll(ctx, request)
	})
}

func (m *mirrored) Forget(ctx context.Context, request dibs.ForgetRequest) (dibs.Forgetting, error) {
	return ask(m, "forget", func(reg *dibs.Registry) (dibs.Forgetting, error) { return reg.Forget(ctx, request) })
}

func (m *mirrored) Recanonicalize(ctx context.Context, request dibs.RecanonicalizeRequest) (dibs.Recanonicalization, error) {
	return ask(m, "recanonicalize", func(reg *dibs.Registry) (dibs.Recanonicalization, error) { return reg.Recanonicalize(ctx, request) })
}

// Sweep sweeps one record after the other, so that the witness is asked in the same order.
func (m *mirrored) Sweep(ctx context.Context, limit int) (dibs.SweepReport, error) {
	before := m.w.testimony
	var heard [][]testimony
	report, err := ask(m, "sweep", func(reg *dibs.Registry) (all dibs.SweepReport, err error) {
		m.w.testimony = nil
		for more := true; more && err == nil && all.Looked < limit; {
			var one dibs.SweepReport
			one, err = reg.Sweep(ctx, 1)
			all.Looked, all.Changed, all.Suspects, all.Settled = all.Looked+one.Looked, all.Changed+one.Changed, all.Suspects+one.Suspects, all.Settled+one.Settled
			more = one.More
			all.More = more
		}
		heard = append(heard, m.w.testimony)
		return all, err
	})
	m.same("the questions to the witness", questions(heard[0]), questions(heard[1]), nil, nil)
	m.w.testimony = slices.Concat(before, heard[0])
	return report, err
}

func questions(all []testimony) (holds []dibs.SuspectHold) {
	for _, said := range all {
		holds = append(holds, said.hold)
	}
	return holds
}

// Events is compared always: the feed is read after each step.
func (m *mirrored) Events(ctx context.Context, query dibs.FeedQuery, _ bool) (dibs.EventPage, error) {
	m.tick()
	want, refused := m.kept.Events(ctx, query)
	after, known := m.cursors[string(query.After)]
	if !known && query.After != "" {
		m.w.t.Fatalf("the cursor %q is not known", query.After)
	}
	query.After = dibs.Cursor(after)
	got, err := m.other.Events(ctx, query)
	m.same("events", withoutCursors(want.Events), withoutCursors(got.Events), refused, err)
	m.learn(want.Events, got.Events)
	if want.Next != "" {
		m.cursors[string(want.Next)] = string(got.Next)
	}
	return want, refused
}

func (m *mirrored) History(ctx context.Context, query dibs.HistoryQuery) (dibs.HistoryPage, error) {
	m.tick()
	want, refused := m.kept.HistoryPage(ctx, query)
	query.Cursor = m.cursors[query.Cursor]
	got, err := m.other.HistoryPage(ctx, query)
	m.same("history", withoutCursors(want.Events), withoutCursors(got.Events), refused, err)
	if (want.Next == "") != (got.Next == "") {
		m.w.t.Fatalf("history: the next cursor on memory is %q, on %s %q", want.Next, m.engine.name, got.Next)
	}
	if want.Next != "" {
		m.cursors[want.Next] = got.Next
	}
	return want, refused
}

func (m *mirrored) Check(ctx context.Context, request dibs.CheckRequest) ([]dibs.Availability, error) {
	return look(m, "check", func(reg *dibs.Registry) ([]dibs.Availability, error) { return reg.Check(ctx, request) })
}

func (m *mirrored) Resolve(ctx context.Context, namespace, value string) (dibs.Resolution, error) {
	return look(m, "resolve", func(reg *dibs.Registry) (dibs.Resolution, error) { return reg.Resolve(ctx, namespace, value) })
}

func (m *mirrored) Get(ctx context.Context, lookup dibs.Lookup) (dibs.Name, error) {
	return look(m, "get", func(reg *dibs.Registry) (dibs.Name, error) { return reg.Get(ctx, lookup) })
}

func (m *mirrored) Entity(ctx context.Context, scope string, entity dibs.Entity) (dibs.EntityInfo, error) {
	return look(m, "entity", func(reg *dibs.Registry) (dibs.EntityInfo, error) { return reg.Entity(ctx, scope, entity) })
}

func (m *mirrored) List(ctx context.Context, query dibs.NamesQuery) (dibs.NamesPage, error) {
	return look(m, "list", func(reg *dibs.Registry) (dibs.NamesPage, error) { return reg.List(ctx, query) })
}

func (m *mirrored) WhoHeld(ctx context.Context, namespace, value string, at time.Time) (dibs.Holder, error) {
	return look(m, "who held", func(reg *dibs.Registry) (dibs.Holder, error) { return reg.WhoHeld(ctx, namespace, value, at) })
}

func (m *mirrored) Stats(ctx context.Context) (dibs.Stats, error) {
	return look(m, "stats", func(reg *dibs.Registry) (dibs.Stats, error) {
		stats, err := reg.Stats(ctx)
		slices.SortFunc(stats.Names, func(a, b dibs.NameCount) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.State, b.State))
		})
		return stats, err
	})
}

func (m *mirrored) Conflicts(ctx context.Context, query dibs.ConflictsQuery) ([]dibs.ConflictBucket, error) {
	return m.kept.Conflicts(ctx, query)
}

func (m *mirrored) Activity(ctx context.Context, query dibs.ActivityQuery) (dibs.Activity, error) {
	return m.kept.Activity(ctx, query)
}

func (m *mirrored) Close() error { return cmp.Or(m.kept.Close(), m.other.Close()) }

// compareStates compares everything that both engines have.
func (m *mirror) compareStates() {
	m.tick()
	want, got := m.stored(m.memory), m.stored(m.engine.store)
	var diff []string
	for i := range max(len(want), len(got)) {
		var a, b string
		if i < len(want) {
			a = want[i]
		}
		if i < len(got) {
			b = got[i]
		}
		if a != b {
			diff = append(diff, "  memory has "+a, "  "+m.engine.name+" has "+b)
		}
	}
	if len(diff) > 0 {
		m.w.t.Fatalf("what is stored differs:\n%s", strings.Join(diff, "\n"))
	}
}

// withoutEmpty returns a record whose empty maps and lists are nil: engines need not distinguish them.
func withoutEmpty(r dibs.Record) dibs.Record {
	switch r := r.(type) {
	case *dibs.NameRecord:
		c := *r
		if len(c.Meta) == 0 {
			c.Meta = nil
		}
		c.Links, c.Spent = append([]dibs.Link(nil), c.Links...), append([]dibs.SpentToken(nil), c.Spent...)
		return &c
	case *dibs.EntityRecord:
		c := *r
		if len(c.Active) == 0 {
			c.Active = nil
		}
		return &c
	}
	return r
}

// stored returns all records and events of a store, in lines.
func (m *mirror) stored(store dibs.Store) (lines []string) {
	ctx := context.Background()
	view, err := snapshot.Take(ctx, store)
	if err != nil {
		m.w.t.Fatal(err)
	}
	defer func() { _ = view.Close() }()
	for _, table := range snapshot.Tables {
		for r, err := range view.Records(ctx, table) {
			if err != nil {
				m.w.t.Fatal(err)
			}
			if !isCounter(r.Ref().Kind) && !snapshot.IsLocal(r) {
				lines = append(lines, fmt.Sprintf("%s %s", r.Ref().Kind, m.text(withoutEmpty(r))))
			}
		}
	}
	for e, err := range view.Events(ctx, "") {
		if err != nil {
			m.w.t.Fatal(err)
		}
		e.Cursor = ""
		lines = append(lines, m.text(e))
	}
	return lines
}
