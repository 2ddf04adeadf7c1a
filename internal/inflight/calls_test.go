package inflight_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/inflight"
)

func TestCloseWaitsForCalls(t *testing.T) {
	t.Parallel()
	var calls inflight.Calls
	if err := calls.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	var ended atomic.Bool
	var closed atomic.Int32
	var closing sync.WaitGroup
	for range 3 {
		closing.Go(func() {
			_ = calls.Close(func() error {
				if !ended.Load() {
					t.Error("the engine was closed during a call")
				}
				closed.Add(1)
				return nil
			})
		})
	}
	for range 100 { // let Close run
		runtime.Gosched()
	}
	ended.Store(true)
	calls.End()
	closing.Wait()
	if closed.Load() != 1 {
		t.Errorf("the engine was closed %d times", closed.Load())
	}
	if err := calls.Begin(t.Context()); !errors.Is(err, dibs.ErrUnavailable) || !errors.Is(err, dibs.ErrClosed) {
		t.Errorf("Begin after Close: %v", err)
	}
}

func TestBeginWithAnEndedContext(t *testing.T) {
	t.Parallel()
	var calls inflight.Calls
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := calls.Begin(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Begin returned %v", err)
	}
	if err := calls.Close(func() error { return nil }); err != nil { // it would block if the call had begun
		t.Error(err)
	}
}
