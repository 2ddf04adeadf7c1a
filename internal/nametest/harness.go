package nametest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/logtest"
	"github.com/calldibs/dibs/storetest"
)

// Run runs the tests that need nothing but a Harness with Dump. A nil clock stands for the
// engine's own.
func Run(t *testing.T, newHarness func(tb testing.TB, clock *storetest.Clock) *Harness) {
	t.Helper()
	byOwnClock := func(tb testing.TB) *Harness {
		tb.Helper()
		return newHarness(tb, nil)
	}
	for name, test := range map[string]func(*testing.T){
		"LookAlikes": func(t *testing.T) { LookAlikes(t, byOwnClock) },
		"Keys":       func(t *testing.T) { Keys(t, byOwnClock) },
		"Forget":     func(t *testing.T) { Forget(t, newHarness) },
		"Activity":   func(t *testing.T) { Activity(t, byOwnClock) },
		"DryRuns":    func(t *testing.T) { DryRuns(t, byOwnClock) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// Harness is one empty engine for several registries: one file, one schema, or one cluster.
type Harness struct {
	// Open opens the store of another registry, as another process would. The suite closes it.
	Open func(tb testing.TB) dibs.Store

	// InTx runs work with a registry bound to the caller's own transaction, which is
	// committed if work returns nil and otherwise rolled back. It returns the error
	// of work or of the commit; a commit that lost a race returns [dibs.ErrRetryTx]. Nil
	// means that the engine has no such transactions.
	InTx func(ctx context.Context, reg *dibs.Registry, work func(bound *dibs.Registry) error) error

	// DryRuns is how many commands the test of that name tries. Zero means 150: the rules decide them,
	// whatever the engine, so a fast one tries more.
	DryRuns int

	// Files returns the paths of all files of the engine, and of its log. Only
	// [Traces] needs it and the fields below.
	Files func(tb testing.TB) []string
	// Telling are parts of paths. A value that is not blind must be found in a file
	// for each, otherwise the search is incomplete.
	Telling []string
	// Dump returns all data of the engine, by its own tools, after scrubbing if the
	// engine can do that. Only [Forget] needs it.
	Dump func(tb testing.TB) []byte
	// Stop stops the engine, so that all data is in the files. The registries are
	// closed by then. Nil means that there is nothing to stop.
	Stop func(tb testing.TB)

	closings []func() // of what is open
}

// open opens a registry, which is closed with the test unless it is closed before.
func (h *Harness) open(tb testing.TB, cfg dibs.Config) *dibs.Registry {
	tb.Helper()
	reg, err := core.Open(h.Open(tb), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	closing := sync.OnceFunc(func() {
		if err := reg.Close(); err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(closing)
	h.closings = append(h.closings, closing)
	return reg
}

// close closes all registries, and stops the engine.
func (h *Harness) close(tb testing.TB) {
	tb.Helper()
	for _, closing := range h.closings {
		closing()
	}
	if h.Stop != nil {
		h.Stop(tb)
	}
}

// openAll opens a registry for each config.
func (h *Harness) openAll(tb testing.TB, cfgs ...dibs.Config) []*dibs.Registry {
	tb.Helper()
	regs := make([]*dibs.Registry, len(cfgs))
	for i, cfg := range cfgs {
		regs[i] = h.open(tb, cfg)
	}
	return regs
}

// maxTries is how often a transaction may lose its race.
const maxTries = 200

// inTx is InTx, repeated until the transaction does not lose a race.
func (h *Harness) inTx(ctx context.Context, reg *dibs.Registry, work func(bound *dibs.Registry) error) (err error) {
	for range maxTries {
		if err = h.InTx(ctx, reg, work); !errors.Is(err, dibs.ErrRetryTx) {
			return err
		}
	}
	return err
}

// atOnce runs callers concurrently, and waits for all.
func atOnce(callers int, work func(caller int)) {
	var group sync.WaitGroup
	start := make(chan struct{})
	for caller := range callers {
		group.Go(func() {
			<-start
			work(caller)
		})
	}
	close(start)
	group.Wait()
}

// transcript records all output of a program: logs, arguments of hooks, results and
// errors.
type transcript struct{ logtest.Buffer }

// tell records a value in the formats that programs use.
func (s *transcript) tell(what any) {
	fmt.Fprintf(s, "%v\n%+v\n%#v\n", what, what, what)
	if err, ok := what.(error); ok {
		s.tellError(err)
		return
	}
	if data, err := json.Marshal(what); err == nil {
		fmt.Fprintf(s, "%s\n", data)
	}
}

// tellError also records the content of an error.
func (s *transcript) tellError(err error) {
	for ; err != nil; err = errors.Unwrap(err) {
		e, ok := err.(*dibs.Error) //nolint:errorlint // the whole chain is walked
		if !ok {
			fmt.Fprintf(s, "%+v\n%#v\n", err, err)
			continue
		}
		s.tell(*e)
		if e.Refusal != nil {
			s.tell(*e.Refusal)
		}
		for _, f := range e.Failures {
			s.tell(f.Err)
		}
	}
}

// config makes a registry write all output to the transcript.
func (s *transcript) config(policies map[string]dibs.Policy) dibs.Config {
	return dibs.Config{
		Policies: policies,
		Logger:   slog.New(slog.NewJSONHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Observer: dibs.Observer{
			Command: func(info dibs.CommandInfo) {
				info.Commands = nil // the caller's own input, with the value
				s.tell(info)
				if info.Err != nil {
					s.tell(info.Err)
				}
			},
			Batch: func(info dibs.BatchInfo) { s.tell(info) },
			Sweep: func(report dibs.SweepReport) { s.tell(report) },
		},
	}
}
