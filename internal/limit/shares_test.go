package limit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs/internal/limit"
)

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
