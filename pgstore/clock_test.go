package pgstore

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A late answer carries a time in the past.
func TestLateAnswerDoesNotSetTheClockBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c clock
		if _, ok := c.estimate(time.Now()); ok {
			t.Error("there is an estimate before the first answer")
		}
		c.learn(1_000_000)
		time.Sleep(2 * time.Second)
		c.learn(1_000_500) // sent a second and a half ago
		if now, ok := c.estimate(time.Now()); !ok || now != 1_002_000 {
			t.Errorf("the estimate is %d (%v), want 1002000", now, ok)
		}
		c.learn(1_002_500) // it took less time than the first
		if now, _ := c.estimate(time.Now()); now != 1_002_500 {
			t.Errorf("the estimate is %d, want 1002500", now)
		}
		time.Sleep(clockMemory)
		if _, ok := c.estimate(time.Now()); ok {
			t.Error("an old answer still makes an estimate")
		}
		c.learn(5) // the clock was set back meanwhile
		if now, ok := c.estimate(time.Now()); !ok || now != 5 {
			t.Errorf("the estimate is %d (%v), want 5", now, ok)
		}
		c.reset()
		if _, ok := c.estimate(time.Now()); ok {
			t.Error("there is an estimate after a reset")
		}
	})
}

func TestStampsOnlyGoUp(t *testing.T) {
	var s stamps
	first := s.next()
	ahead := time.Now().Add(time.Hour).UnixMicro()
	s.see(ahead)
	s.see(ahead - 5)
	if next := s.next(); first >= next || next <= ahead {
		t.Errorf("after %d, and %d was seen: %d", first, ahead, next)
	}
	if a, b := s.next(), s.next(); a >= b {
		t.Errorf("%d is followed by %d", a, b)
	}
}

func TestFailoverIsDetected(t *testing.T) {
	var f failovers
	for _, step := range []struct {
		started string
		changed bool
	}{{"monday", false}, {"monday", false}, {"tuesday", true}, {"tuesday", false}} {
		if f.observe(step.started) != step.changed {
			t.Errorf("server started on %s: changed is %v, want %v", step.started, !step.changed, step.changed)
		}
	}
	if got := f.count.Load(); got != 1 {
		t.Errorf("generation %d, want 1", got)
	}
}

// spin waits for a condition without giving up its processor, at first: on a busy machine the goroutine that makes it true
// may need that one.
func spin(is func() bool) {
	for spins := 0; !is(); spins++ {
		if spins > 10_000 {
			time.Sleep(time.Microsecond)
		}
	}
}

// Of two connections to a new server, the second one must not see the old count either.
func TestFailoverIsCountedBeforeUse(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("needs two processors")
	}
	const changes = 2000
	var f failovers
	var began, ended atomic.Int64
	var connections sync.WaitGroup
	f.observe("0")
	for range 2 {
		connections.Go(func() {
			for i := range int64(changes) {
				began.Add(1)
				spin(func() bool { return began.Load() >= 2*(i+1) }) // both begin at the same moment
				f.observe(strconv.FormatInt(i+1, 10))
				if n := f.count.Load(); n != i+1 {
					t.Errorf("%d changes are counted, want %d", n, i+1)
				}
				ended.Add(1)
				spin(func() bool { return ended.Load() >= 2*(i+1) })
			}
		})
	}
	connections.Wait()
}
