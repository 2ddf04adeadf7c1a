package coretest

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/memstore"
	"github.com/calldibs/dibs/storetest"
)

// Tokens for the holds of tests.
const (
	Token1 = "token-of-the-holder"
	Token2 = "token-of-a-stranger"
	Token3 = "token-of-the-next-holder"
)

// Entities for the names of tests.
var (
	User1   = dibs.Entity{Type: "user", ID: "1"}
	User2   = dibs.Entity{Type: "user", ID: "2"}
	User3   = dibs.Entity{Type: "user", ID: "3"}
	Wedding = dibs.Entity{Type: "wedding", ID: "42"}
	// Alice is the person that tests forget. Everything that belongs to her alone contains "alice".
	Alice = dibs.Entity{Type: "user", ID: "alice-17"}
)

// Fixture is a registry on memstore whose clock stands still, and what tests do with one. A check
// that fails ends the test unless its comment says otherwise.
type Fixture struct {
	*dibs.Registry
	T      *testing.T
	Ctx    context.Context
	Engine *memstore.Store
	Clock  *storetest.Clock
}

// NewClock returns an engine clock that moves only when a test advances it.
func NewClock() *storetest.Clock {
	return storetest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
}

// NewFixture opens a registry with these policies. Its principal has no name and all rights, as
// in a program that embeds the library.
func NewFixture(t *testing.T, policies map[string]dibs.Policy) *Fixture {
	t.Helper()
	return NewFixtureOn(t, dibs.Config{Policies: policies}, func(engine *memstore.Store) dibs.Store {
		return StrictStore{Store: engine, T: t}
	})
}

// NewFixtureOn opens a registry on the store that wrap puts in front of the engine.
func NewFixtureOn(t *testing.T, cfg dibs.Config, wrap func(engine *memstore.Store) dibs.Store) *Fixture {
	t.Helper()
	clock := NewClock()
	engine := memstore.New(memstore.Config{Now: clock.Now})
	return &Fixture{Registry: MustOpen(t, wrap(engine), cfg), T: t, Ctx: t.Context(), Engine: engine, Clock: clock}
}

// MustOpen opens a registry on a store. The registry is closed when the test ends.
func MustOpen(tb testing.TB, store dibs.Store, cfg dibs.Config) *dibs.Registry {
	tb.Helper()
	r, err := core.Open(store, cfg)
	if err != nil {
		tb.Fatalf("Open: %v", err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return r
}

// Reopened returns the fixture with a second registry on the same engine, with other policies.
func (f *Fixture) Reopened(policies map[string]dibs.Policy) *Fixture {
	f.T.Helper()
	return f.With(MustOpen(f.T, StrictStore{Store: f.Engine, T: f.T}, dibs.Config{Policies: policies}))
}

// ActAs returns the fixture for another principal.
func (f *Fixture) ActAs(name string, rights dibs.Rights) *Fixture {
	return f.With(f.As(dibs.Principal{Name: name, Rights: rights}))
}

// With returns the fixture with another registry.
func (f *Fixture) With(registry *dibs.Registry) *Fixture {
	g := *f
	g.Registry = registry
	return &g
}

// Must applies commands that must succeed, each with a change.
func (f *Fixture) Must(commands ...dibs.Command) []dibs.Result {
	f.T.Helper()
	results, err := f.Apply(f.Ctx, commands...)
	if err != nil {
		f.T.Fatalf("%#v: %v", commands, err)
	}
	for i, r := range results {
		if r.Replayed {
			f.T.Fatalf("%#v: replayed, want a change", commands[i])
		}
	}
	return results
}

// One applies a command that must succeed with a change, and returns its first name.
func (f *Fixture) One(command dibs.Command) dibs.Name {
	f.T.Helper()
	return f.Must(command)[0].Names[0]
}

// Replayed applies a command that must succeed as a replay and write no event.
func (f *Fixture) Replayed(command dibs.Command) dibs.Result {
	f.T.Helper()
	before := f.AllEvents()
	results, err := f.Apply(f.Ctx, command)
	if err != nil {
		f.T.Fatalf("%#v: %v", command, err)
	}
	if !results[0].Replayed {
		f.T.Fatalf("%#v: not replayed", command)
	}
	if after := f.AllEvents(); len(after) != len(before) {
		f.T.Fatalf("%#v: replayed, but it wrote %v", command, after[len(before):])
	}
	return results[0]
}

// Refused applies commands that must be refused as [Fixture.WantError] says, without a change.
func (f *Fixture) Refused(want error, commands ...dibs.Command) *dibs.Error {
	f.T.Helper()
	before := f.Dump()
	_, err := f.Apply(f.Ctx, commands...)
	e := f.WantError(err, want)
	if after := f.Dump(); !reflect.DeepEqual(before, after) {
		f.T.Fatalf("%#v was refused, but it changed the store from\n%v\nto\n%v", commands, before, after)
	}
	return e
}

// WantError checks that err is a *dibs.Error that matches want, has a message of some length and
// contains no token.
func (f *Fixture) WantError(err, want error) *dibs.Error {
	f.T.Helper()
	if !errors.Is(err, want) {
		f.T.Fatalf("got error %v, want %v", err, want)
	}
	var e *dibs.Error
	if !errors.As(err, &e) {
		f.T.Fatalf("%v is a %T, not a *dibs.Error", err, err)
	}
	if len(e.Message) < 10 {
		f.T.Errorf("the message %q does not say what is wrong", e.Message)
	}
	for _, secret := range []string{Token1, Token2, Token3} {
		if strings.Contains(err.Error(), secret) {
			f.T.Errorf("the error %q contains a token", err)
		}
	}
	return e
}

// SweepAll sweeps up to 1,000 records.
func (f *Fixture) SweepAll() dibs.SweepReport {
	f.T.Helper()
	report, err := f.Sweep(f.Ctx, 1000)
	if err != nil {
		f.T.Fatal(err)
	}
	return report
}

// MustForget runs a Forget that must succeed.
func (f *Fixture) MustForget(request dibs.ForgetRequest) dibs.Forgetting {
	f.T.Helper()
	report, err := f.Forget(f.Ctx, request)
	if err != nil {
		f.T.Fatalf("%+v: %v", request, err)
	}
	return report
}

// MustRecanonicalize runs a Recanonicalize of the namespace slug that must succeed.
func (f *Fixture) MustRecanonicalize(dryRun bool) dibs.Recanonicalization {
	f.T.Helper()
	report, err := f.Recanonicalize(f.Ctx, dibs.RecanonicalizeRequest{Namespace: "slug", DryRun: dryRun})
	if err != nil {
		f.T.Fatal(err)
	}
	return report
}
