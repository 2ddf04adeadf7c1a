package model_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/record"
	"github.com/calldibs/dibs/memstore"
)

// brokenEngine is an engine that differs from memory in one way.
type brokenEngine struct {
	*memstore.Store
	commit func(*dibs.Group)      // changes what is committed
	isDue  func(dibs.Record) bool // says what is due; nil means what is
}

func (b brokenEngine) Commit(ctx context.Context, groups []dibs.Group) ([]dibs.Outcome, error) {
	groups = slices.Clone(groups)
	for i := range groups {
		b.commit(&groups[i])
	}
	return b.Store.Commit(ctx, groups)
}

func (b brokenEngine) Due(ctx context.Context, limit int) ([]dibs.Ref, error) {
	refs, err := b.Store.Due(ctx, limit)
	if err != nil || b.isDue == nil {
		return refs, err
	}
	found, err := b.Load(ctx, refs)
	if err != nil {
		return nil, err
	}
	refs = nil
	for _, r := range found.Records {
		if b.isDue(r) {
			refs = append(refs, r.Ref())
		}
	}
	return refs, nil
}

// changeNames returns a change of the names that a group writes.
func changeNames(change func(n *dibs.NameRecord)) func(*dibs.Group) {
	return func(g *dibs.Group) {
		g.Writes = slices.Clone(g.Writes)
		for i := range g.Writes {
			if n, ok := g.Writes[i].Record.(*dibs.NameRecord); ok {
				changed := *n
				change(&changed)
				g.Writes[i].Record = &changed
			}
		}
	}
}

// brokenEngines are the ways in which an engine may differ, each the mistake of one line.
var brokenEngines = map[string]func(w *world) brokenEngine{
	"loses the tokens of earlier holds": func(*world) brokenEngine {
		return brokenEngine{commit: changeNames(func(n *dibs.NameRecord) { n.Spent = nil })}
	},
	"stores no links": func(*world) brokenEngine {
		return brokenEngine{commit: changeNames(func(n *dibs.NameRecord) { n.Links = nil })}
	},
	"folds the case of values": func(*world) brokenEngine {
		return brokenEngine{commit: changeNames(func(n *dibs.NameRecord) { n.Value = strings.ToLower(n.Value) })}
	},
	"reverses the events of a group": func(*world) brokenEngine {
		return brokenEngine{commit: func(g *dibs.Group) {
			g.Events = slices.Clone(g.Events)
			slices.Reverse(g.Events)
		}}
	},
	"redacts nothing": func(*world) brokenEngine {
		return brokenEngine{commit: func(g *dibs.Group) { g.Redacts = nil }}
	},
	"is a millisecond late": func(w *world) brokenEngine {
		return brokenEngine{
			commit: func(*dibs.Group) {},
			isDue:  func(r dibs.Record) bool { return int64(record.Due(r)) < w.now },
		}
	},
}

// TestDifferencesAreNoticed demands that histories show what is wrong with each broken engine.
func TestDifferencesAreNoticed(t *testing.T) {
	setChecks(t, 500)
	set(t, "rapid.nofailfile", "true")
	set(t, "rapid.shrinktime", "200ms")
	for name, broken := range brokenEngines {
		t.Run(name, func(t *testing.T) {
			open := func(w *world) engine {
				b := broken(w)
				b.Store = memstore.New(memstore.Config{Now: func() time.Time { return time.UnixMilli(w.now) }})
				return engine{name: "the broken engine", store: b, close: func() { _ = b.Close() }}
			}
			found := new(judge)
			done := make(chan struct{})
			go func() { // which a failure ends
				defer close(done)
				rapid.Check(found, func(t *rapid.T) {
					w := newWorldBeside(t, false, open)
					defer w.close()
					w.live(false)
				})
			}()
			<-done
			if len(found.errors) == 0 {
				t.Fatal("no history shows the difference")
			}
			t.Log(found.errors[0])
		})
	}
}

// judge is the test in which an engine must fail.
type judge struct{ errors []string }

func (j *judge) Helper()              {}
func (j *judge) Name() string         { return "judge" }
func (j *judge) Logf(string, ...any)  {}
func (j *judge) Log(...any)           {}
func (j *judge) Skipf(string, ...any) {}
func (j *judge) Skip(...any)          {}
func (j *judge) SkipNow()             { runtime.Goexit() }
func (j *judge) Errorf(format string, args ...any) {
	j.errors = append(j.errors, fmt.Sprintf(format, args...))
}

func (j *judge) Error(args ...any) { j.errors = append(j.errors, fmt.Sprint(args...)) }
func (j *judge) Fail()             { j.errors = append(j.errors, "failed") }
func (j *judge) Failed() bool      { return len(j.errors) > 0 }
func (j *judge) FailNow()          { j.Fail(); runtime.Goexit() }

func (j *judge) Fatalf(format string, args ...any) {
	j.Errorf(format, args...)
	runtime.Goexit()
}

func (j *judge) Fatal(args ...any) {
	j.Error(args...)
	runtime.Goexit()
}

var _ rapid.TB = (*judge)(nil)
