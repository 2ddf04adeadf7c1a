package backoff_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs/internal/backoff"
)

// Each wait is twice as long as the last one, up to Max, with jitter of half the time.
func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := backoff.Backoff{First: time.Second, Max: 3 * time.Second}
		for _, want := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
			began := time.Now()
			if err := b.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took < want/2 || took > want*3/2 {
				t.Errorf("waited %v, want about %v", took, want)
			}
		}
		b.Reset()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		if err := b.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 100*time.Millisecond {
			t.Errorf("%v after %v, want the end of the context", err, time.Since(began))
		}
	})
}
