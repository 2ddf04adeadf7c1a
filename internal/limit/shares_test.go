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
		enter := func(caller string, want limit.Entry) func() {
			t.Helper()
			leave, entry := shares.Enter(t.Context(), caller)
			if entry != want {
				t.Fatalf("%s: %v, want %v", caller, entry, want)
			}
			return leave
		}
		first, second := enter("ann", limit.Entered), enter("ann", limit.Entered)
		enter("bob", limit.Entered)() // one caller does not take the places of another
		waited := make(chan func())
		go func() { waited <- enter("ann", limit.Entered) }()
		synctest.Wait()
		enter("ann", limit.Full)
		first()
		third := <-waited
		begin := time.Now()
		enter("ann", limit.TooLong)
		if took := time.Since(begin); took != time.Second {
			t.Errorf("it waited for %v", took)
		}
		second()
		third()
		if n := shares.Callers(); n != 0 {
			t.Errorf("%d callers are remembered", n)
		}
	})
}

func TestNoShares(t *testing.T) {
	t.Parallel()
	shares := limit.NewShares(0, 0, 0)
	for range 100 {
		if _, entry := shares.Enter(t.Context(), "ann"); entry != limit.Entered {
			t.Fatal(entry)
		}
	}
}
