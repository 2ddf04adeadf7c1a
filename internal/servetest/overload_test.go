package servetest_test

import (
	"net/http"
	"os"
	"testing"
	"time"
)

// How long a server is overloaded, and the least of what it can carry that it must still
// do meanwhile. DIBS_TEST_LONG=1m makes it a minute.
func overloadTime() (d time.Duration, long bool) {
	if d, err := time.ParseDuration(os.Getenv("DIBS_TEST_LONG")); err == nil {
		return d, true
	}
	return 3 * time.Second, false
}

// connections is how many there are to overload a server with.
const connections = 6000

// TestOverload sends twice as much as a server can carry. It does most of what it can, turns
// the rest away in a way that helps, keeps its memory, and is itself again at once.
//
// It runs by itself, before the parallel tests: it measures.
func TestOverload(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures: not with the race detector")
	}
	lasts, long := overloadTime()
	// One core for the server, so that there is one left to overload it with.
	p := listen(t, start(t, t.TempDir(), []string{"GOMAXPROCS=1"}, "serve", "--listen", "127.0.0.1:0"))
	crew := newCrew(t, p.url, connections)
	crew.closedLoop("warm", 256, time.Second)
	calm := crew.closedLoop("calm", 8, time.Second)
	cpu := p.cpu()
	full := crew.closedLoop("full", 512, 2*time.Second)
	fullCPU := p.cpu() - cpu
	capacity := full.rate(http.StatusCreated)
	before, _ := p.resident()

	memory := watchMemory(p)
	cpu = p.cpu()
	over := crew.openLoop("over", int(2*capacity), lasts)
	overCPU := p.cpu() - cpu
	most := memory()
	after := crew.closedLoop("after", 8, 2*time.Second)

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
	// Who waits holds its connection, and so holds itself back.
	if over.counts[http.StatusServiceUnavailable] == 0 && over.unsent == 0 {
		t.Error("nobody was turned away, or held back: it was not overloaded")
	}
	// By the time that the processor had for it, too: those who overload it, and whoever else
	// is on the machine, take some of it.
	share := over.rate(http.StatusCreated) / capacity
	worth := float64(over.counts[http.StatusCreated]) / overCPU.Seconds() / (float64(full.counts[http.StatusCreated]) / fullCPU.Seconds())
	t.Logf("it did %.0f %% of what it can, %.0f %% by the time of the processor (%v of %v)", 100*share, 100*worth, overCPU, over.lasted.Round(time.Millisecond))
	least := 0.5 // a short measurement is a rough one
	if long {
		least = 0.7
	}
	if max(share, worth) < least {
		t.Errorf("it did %.0f %% of what it can", 100*share)
	}
	if p99 := percentile(over.took, 99); p99 > 3*time.Second {
		t.Errorf("who was served waited %v (p99)", p99)
	}
	const each = 50 // KB: what a connection with a request may take
	if limit := before + connections*each/1000; most > limit {
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
		pace, max := time.NewTicker(20*time.Millisecond), 0
		defer pace.Stop()
		for {
			select {
			case <-stopping:
				most <- max
				return
			case <-pace.C:
				if mb, ok := p.resident(); ok && mb > max {
					max = mb
				}
			}
		}
	}()
	return func() int {
		close(stopping)
		return <-most
	}
}
