package backoff_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs/internal/backoff"
)

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if err := backoff.Sleep(ctx, time.Second); err != nil || time.Since(start) != time.Second {
			t.Errorf("slept for %v, error %v", time.Since(start), err)
		}
		if err := backoff.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("slept until %v, error %v, want the context's end after a minute", time.Since(start), err)
		}
	})
}
