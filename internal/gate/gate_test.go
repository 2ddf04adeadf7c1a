package gate_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/gate"
)

func TestShutWaitsForThoseWhoAreIn(t *testing.T) {
	t.Parallel()
	var g gate.Gate
	if err := g.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	var left atomic.Bool
	var closed atomic.Int32
	var shutting sync.WaitGroup
	for range 3 {
		shutting.Go(func() {
			_ = g.Shut(func() error {
				if !left.Load() {
					t.Error("it was closed while a call was in")
				}
				closed.Add(1)
				return nil
			})
		})
	}
	for range 100 { // a chance to go wrong
		runtime.Gosched()
	}
	left.Store(true)
	g.Leave()
	shutting.Wait()
	if closed.Load() != 1 {
		t.Errorf("it was closed %d times", closed.Load())
	}
	if err := g.Enter(t.Context()); !errors.Is(err, dibs.ErrUnavailable) || !errors.Is(err, dibs.ErrClosed) {
		t.Errorf("after that: %v", err)
	}
}

func TestEnterWithAContextThatHasEnded(t *testing.T) {
	t.Parallel()
	var g gate.Gate
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Enter(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := g.Shut(func() error { return nil }); err != nil { // it would wait for ever if that were in
		t.Error(err)
	}
}
