package servetest_test

import (
	"net/http"
	"os"
	"testing"
	"time"
)

// overloadTime is how long a server is overloaded. DIBS_TEST_LONG=1m makes it a minute.
func overloadTime() (d time.Duration, long bool) {
	if d, err := time.ParseDuration(os.Getenv("DIBS_TEST_LONG")); err == nil {
		return d, true
	}
	return 1500 * time.Millisecond, false
}

// TestOverload sends twice as much as a server can carry. It does most of what it can, holds
// the rest back or turns it away in a way that helps, keeps its memory, and is itself again
// at once.
//
// It runs by itself, before the parallel tests: it measures.
func TestOverload(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures: not with the race detector")
	}
	for _, c := range []overload{
		// Who waits holds its connection, and so holds itself back.
		{name: "as it is", connections: 6000, carries: 512, least: 0.7},
		// Here nearly all is turned away, and that is most of the work.
		{name: "little room", settings: "[limits]\nmaxInFlight = 64\nmaxWaiting = 64\nmaxWait = \"100ms\"\n", connections: 1000, carries: 100, least: 0.2, sheds: true},
	} {
		t.Run(c.name, c.run)
	}
}

// overload is a server, and what it is overloaded with.
type overload struct {
	name, settings string
	connections    int
	carries        int     // how many callers make it do all that it can
	least          float64 // of what it can do, in a long run
	sheds          bool    // most is turned away
}

func (c overload) run(t *testing.T) {
	lasts, long := overloadTime()
	dir := t.TempDir()
	writeFile(t, dir, "dibs.toml", c.settings)
	// One core for the server, so that there is one left to overload it with.
	p := listen(t, start(t, dir, []string{"GOMAXPROCS=1"}, "serve", "--listen", "127.0.0.1:0", "--config", "dibs.toml"))
	crew := newCrew(t, p.url, c.connections)
	crew.closedLoop("warm", c.carries, time.Second/3)
	calm := crew.closedLoop("calm", 8, time.Second/3)
	cpu := p.cpu()
	full := crew.closedLoop("full", c.carries, time.Second)
	fullCPU := p.cpu() - cpu
	capacity := full.rate(http.StatusCreated)
	before, _ := p.resident()

	memory := watchMemory(p)
	cpu = p.cpu()
	over := crew.openLoop("over", int(2*capacity), lasts)
	overCPU := p.cpu() - cpu
	most := memory()
	after := crew.closedLoop("after", 8, time.Second/2)

	t.Logf("calm: %v", calm)
	t.Logf("full: %v", full)
	t.Logf("over: %v, %d asked for, %d could not be sent", over, int(2*capacity*lasts.Seconds()), over.unsent)
	t.Logf("after: %v", after)
	t.Logf("memory: %d MB before, at most %d MB during", before, most)
	for _, o := range []outcome{calm, full, over, after} {
		for _, problem := range o.problems {
			t.Error(problem)
		}
	}
	if shed := over.counts[http.StatusServiceUnavailable] + over.counts[http.StatusTooManyRequests]; shed == 0 && (over.unsent == 0 || c.sheds) {
		t.Error("nobody was turned away, or held back: it was not overloaded")
	}
	// By the time that the processor had for it, too: those who overload it, and whoever else
	// is on the machine, take some of it.
	share := over.rate(http.StatusCreated) / capacity
	worth := float64(over.counts[http.StatusCreated]) / overCPU.Seconds() / (float64(full.counts[http.StatusCreated]) / fullCPU.Seconds())
	t.Logf("it did %.0f %% of what it can, %.0f %% by the time of the processor (%v of %v)", 100*share, 100*worth, overCPU, over.lasted.Round(time.Millisecond))
	least := c.least
	if !long { // a short measurement is a rough one
		least *= 0.7
	}
	if max(share, worth) < least {
		t.Errorf("it did %.0f %% of what it can", 100*share)
	}
	if p99 := percentile(over.took, 99); p99 > 3*time.Second {
		t.Errorf("who was served waited %v (p99)", p99)
	}
	const each = 50 // KB: what a connection with a request may take
	if limit := before + 50 + c.connections*each/1000; most > limit {
		t.Errorf("it took %d MB, with %d MB before", most, before)
	}
	if got, want := percentile(after.took, 50), max(10*time.Millisecond, 5*percentile(calm.took, 50)); got > want {
		t.Errorf("afterwards an answer takes %v (p50), want %v at most", got, want)
	}
	if n := after.counts[http.StatusServiceUnavailable]; n > 0 {
		t.Errorf("afterwards %d are still turned away", n)
	}
}

// watchMemory looks at the memory of a process until it is stopped, and returns the most
// that it had, in MB.
func watchMemory(p *process) (stop func() int) {
	stopping, most := make(chan struct{}), make(chan int)
	go func() {
		pace, highest := time.NewTicker(20*time.Millisecond), 0
		defer pace.Stop()
		for {
			select {
			case <-stopping:
				most <- highest
				return
			case <-pace.C:
				if mb, ok := p.resident(); ok && mb > highest {
					highest = mb
				}
			}
		}
	}()
	return func() int {
		close(stopping)
		return <-most
	}
}
