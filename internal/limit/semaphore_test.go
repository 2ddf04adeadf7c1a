package limit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs/internal/limit"
)

// Two callers are admitted, three wait for a second, and all others are refused at once.
func TestSemaphore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := limit.NewSemaphore(2, 3, time.Second)
		ctx := t.Context()
		for range 2 {
			if e := s.Acquire(ctx); e != limit.Admitted {
				t.Fatal(e)
			}
		}
		waited := make(chan limit.Admission, 3)
		for range 3 {
			go func() { waited <- s.Acquire(ctx) }()
		}
		synctest.Wait()
		begin := time.Now()
		if e := s.Acquire(ctx); e != limit.QueueFull || time.Since(begin) != 0 || s.Waiting() != 3 {
			t.Errorf("with a full queue: %v after %v, %d callers wait", e, time.Since(begin), s.Waiting())
		}
		s.Release()
		if e := <-waited; e != limit.Admitted || time.Since(begin) != 0 {
			t.Errorf("after Release: %v after %v", e, time.Since(begin))
		}
		for range 2 {
			if e := <-waited; e != limit.TimedOut || time.Since(begin) != time.Second {
				t.Errorf("without Release: %v after %v", e, time.Since(begin))
			}
		}
		ended, cancel := context.WithCancel(ctx)
		go func() { waited <- s.Acquire(ended) }()
		synctest.Wait()
		cancel()
		if e := <-waited; e != limit.TimedOut || s.Waiting() != 0 {
			t.Errorf("after cancel: %v, %d callers wait", e, s.Waiting())
		}
		s.Release()
		s.Release()
		for range 2 {
			if e := s.Acquire(ctx); e != limit.Admitted {
				t.Error("a slot got lost")
			}
		}
	})
}

func TestSemaphoreIsFair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := limit.NewSemaphore(1, 10, time.Second)
		s.Acquire(t.Context())
		order := make(chan int, 5)
		for i := range 5 {
			go func() {
				s.Acquire(t.Context())
				order <- i
				s.Release()
			}()
			synctest.Wait()
		}
		s.Release()
		for i := range 5 {
			if got := <-order; got != i {
				t.Errorf("caller %d was admitted as number %d", got, i)
			}
		}
	})
}

func TestNilSemaphore(t *testing.T) {
	t.Parallel()
	s := limit.NewSemaphore(0, 0, 0)
	for range 10_000 {
		if s.Acquire(t.Context()) != limit.Admitted {
			t.Fatal("a caller was refused")
		}
	}
	s.Release()
}

func TestShares(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shares := limit.NewShares(2, 1, time.Second)
		acquire := func(caller string, want limit.Admission) func() {
			t.Helper()
			release, got := shares.Acquire(t.Context(), caller)
			if got != want {
				t.Fatalf("%s: %v, want %v", caller, got, want)
			}
			return release
		}
		first, second := acquire("ann", limit.Admitted), acquire("ann", limit.Admitted)
		acquire("bob", limit.Admitted)() // callers do not share slots
		waited := make(chan func())
		go func() { waited <- acquire("ann", limit.Admitted) }()
		synctest.Wait()
		acquire("ann", limit.QueueFull)
		first()
		third := <-waited
		begin := time.Now()
		acquire("ann", limit.TimedOut)
		if took := time.Since(begin); took != time.Second {
			t.Errorf("Acquire waited for %v", took)
		}
		second()
		third()
		if n := shares.Callers(); n != 0 {
			t.Errorf("%d callers are left", n)
		}
	})
}

func TestNilShares(t *testing.T) {
	t.Parallel()
	shares := limit.NewShares(0, 0, 0)
	for range 100 {
		if _, got := shares.Acquire(t.Context(), "ann"); got != limit.Admitted {
			t.Fatal(got)
		}
	}
}
