package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
)

// Harness opens the engine under test. Only Open is required. Leave nil what an
// engine cannot do: cases that need it log that they did not run, or run without
// it.
type Harness struct {
	// Open returns an empty store that reads the time from clock. The suite
	// closes it.
	Open func(tb testing.TB, clock *Clock) dibs.Store

	// Reopen opens the data of a store that the suite has closed. Nil means
	// that the engine has no disk.
	Reopen func(tb testing.TB, store dibs.Store, clock *Clock) dibs.Store

	// Crash opens the data of a store that was not closed, as after a kill of
	// the process: from a copy of its files, for example. The suite does not use
	// the old store again, but closes it at the end. Nil means that durability is
	// tested by Reopen.
	Crash func(tb testing.TB, store dibs.Store, clock *Clock) dibs.Store

	// Share opens a second handle on the data of a store that stays in use, as
	// another process would. Nil means that there can be only one handle.
	Share func(tb testing.TB, store dibs.Store, clock *Clock) dibs.Store

	// Cut disconnects a store from its database for good, so that calls fail
	// while the store is still open. Nil means that this cannot be provoked; the
	// suite then tests what a closed store returns.
	Cut func(tb testing.TB, store dibs.Store)

	// Hold locks a record in another transaction until release is called; it
	// changes nothing. Nil means that the engine never returns [dibs.Busy].
	Hold func(tb testing.TB, store dibs.Store, ref dibs.Ref) (release func())

	// Stall makes the next Commit of a store stop between checking its Window and
	// becoming visible, as a Commit does that waits for a disk or a standby: stalled is
	// closed when Commit is there, and resume lets it continue. Nil means that the Clock
	// stalls it, which requires an engine that reads the Clock when it commits.
	Stall func(tb testing.TB, store dibs.Store) (stalled <-chan struct{}, resume func())

	// Apart says that the store keeps scopes apart and cannot commit a group that
	// spans several, as a [dibs.Partitioned] one. The suite then splits such groups.
	Apart bool
}

// testCase proves one or more of the contract's musts.
type testCase struct {
	musts string // their ids, separated by commas
	name  string
	run   func(e *env)
}

func (c testCase) ids() []string { return strings.Split(c.musts, ",") }

// Run runs the whole suite against an engine. Cases run in parallel, each with a
// store and a clock of its own.
func Run(t *testing.T, harness Harness) {
	t.Helper()
	if harness.Open == nil {
		t.Fatal("storetest: the Harness has no Open")
	}
	for _, c := range cases {
		t.Run(c.musts+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			c.prove(t, harness)
		})
	}
}

// Musts returns the ids of the musts that the suite proves, sorted.
func Musts() []string {
	var ids []string
	for _, c := range cases {
		ids = append(ids, c.ids()...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// epoch is where the clock of every case begins.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// prove runs one case.
func (c testCase) prove(tb testing.TB, harness Harness) {
	tb.Helper()
	c.proveWithin(tb, harness, patience)
}

func (c testCase) proveWithin(tb testing.TB, harness Harness, patience time.Duration) {
	tb.Helper()
	e := &env{TB: tb, ids: c.musts, harness: harness, clock: NewClock(epoch), patience: patience}
	e.store = e.closing(harness.Open(tb, e.clock))
	c.run(e)
}
