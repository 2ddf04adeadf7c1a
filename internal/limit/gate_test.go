package limit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/calldibs/dibs/internal/limit"
)

// So many are inside, so many wait, for so long; everybody else is turned away at once.
func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGate(2, 3, time.Second)
		ctx := t.Context()
		for range 2 {
			if e := g.Enter(ctx); e != limit.Entered {
				t.Fatal(e)
			}
		}
		waited := make(chan limit.Entry, 3)
		for range 3 {
			go func() { waited <- g.Enter(ctx) }()
		}
		synctest.Wait()
		begin := time.Now()
		if e := g.Enter(ctx); e != limit.Full || time.Since(begin) != 0 || g.Waiting() != 3 {
			t.Errorf("with a full queue it is %v after %v, %d wait", e, time.Since(begin), g.Waiting())
		}
		g.Leave()
		if e := <-waited; e != limit.Entered || time.Since(begin) != 0 {
			t.Errorf("who waited is %v after %v", e, time.Since(begin))
		}
		for range 2 {
			if e := <-waited; e != limit.TooLong || time.Since(begin) != time.Second {
				t.Errorf("who waits in vain is %v after %v", e, time.Since(begin))
			}
		}
		gone, leave := context.WithCancel(ctx)
		go func() { waited <- g.Enter(gone) }()
		synctest.Wait()
		leave()
		if e := <-waited; e != limit.TooLong || g.Waiting() != 0 {
			t.Errorf("who gives up is %v, %d wait", e, g.Waiting())
		}
		g.Leave()
		g.Leave()
		for range 2 {
			if e := g.Enter(ctx); e != limit.Entered {
				t.Error("a place got lost")
			}
		}
	})
}

func TestGateIsFair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := limit.NewGate(1, 10, time.Second)
		g.Enter(t.Context())
		order := make(chan int, 5)
		for i := range 5 {
			go func() {
				g.Enter(t.Context())
				order <- i
				g.Leave()
			}()
			synctest.Wait()
		}
		g.Leave()
		for i := range 5 {
			if got := <-order; got != i {
				t.Errorf("number %d came %d.", got, i)
			}
		}
	})
}

func TestNoGate(t *testing.T) {
	t.Parallel()
	g := limit.NewGate(0, 0, 0)
	for range 10_000 {
		if g.Enter(t.Context()) != limit.Entered {
			t.Fatal("somebody was turned away")
		}
	}
	g.Leave()
}
