package servetest_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
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

// TestOverload sends twice as many requests as a server can carry. The server does most of
// what it can, delays or sheds the rest with Retry-After, keeps its memory, and recovers at
// once.
func TestOverload(t *testing.T) {
	if _, long := overloadTime(); !*measure && !long {
		t.Skip("it measures: make baselines runs it alone")
	}
	for _, c := range []overload{
		// A waiting caller keeps its connection, and so is delayed itself.
		{name: "default limits", connections: 6000, carries: 512, least: 0.7},
		// Here nearly all requests are shed, and that is most of the work.
		{name: "low limits", settings: "[limits]\nmaxInFlight = 64\nmaxWaiting = 64\nmaxWait = \"100ms\"\n", connections: 1000, carries: 100, least: 0.2, sheds: true},
	} {
		t.Run(c.name, c.run)
	}
}

// overload is a server, and its load.
type overload struct {
	name, settings string
	connections    int
	carries        int     // how many callers use the whole capacity
	least          float64 // share of the capacity, in a long run
	sheds          bool    // most requests are shed
}

func (c overload) run(t *testing.T) {
	lasts, long := overloadTime()
	dir := t.TempDir()
	writeFile(t, dir, "dibs.toml", c.settings)
	// One core for the server, so that one is left for the load.
	p := listen(t, start(t, dir, []string{"GOMAXPROCS=1"}, "serve", "--listen", "127.0.0.1:0", "--config", "dibs.toml"))
	load := newLoadGenerator(t, p.url, c.connections)
	load.closedLoop("warm", c.carries, time.Second/3)
	calm := load.closedLoop("calm", 8, time.Second/3)
	cpu := p.cpu()
	full := load.closedLoop("full", c.carries, time.Second)
	fullCPU := p.cpu() - cpu
	capacity := full.rate(http.StatusCreated)
	before, _ := p.resident()

	memory := watchMemory(p)
	var (
		over    outcome
		overCPU time.Duration
	)
	for try := range 5 {
		cpu = p.cpu()
		over = load.openLoop(fmt.Sprint("over-", try), int(2*capacity), lasts)
		overCPU = p.cpu() - cpu
		if over.shed() > 0 || over.unsent > 0 && !c.sheds {
			break
		}
		// The server served all of it: something slowed it down while its capacity was
		// measured.
		t.Logf("%.0f/s do not overload the server: %v", 2*capacity, over)
		capacity = max(capacity, over.rate(http.StatusCreated))
	}
	most := memory()
	after := load.closedLoop("after", 8, time.Second/2)

	t.Logf("calm: %v", calm)
	t.Logf("full: %v", full)
	t.Logf("over: %v, %d requested, %d could not be sent", over, int(2*capacity*lasts.Seconds()), over.unsent)
	t.Logf("after: %v", after)
	t.Logf("memory: %d MB before, at most %d MB during", before, most)
	for _, o := range []outcome{calm, full, over, after} {
		for _, problem := range o.problems {
			t.Error(problem)
		}
	}
	if over.shed() == 0 && (over.unsent == 0 || c.sheds) {
		t.Error("no request was shed or delayed: the server was not overloaded")
	}
	// Also by processor time: the load, and everything else on the machine, use some of
	// it.
	share := over.rate(http.StatusCreated) / capacity
	worth := float64(over.counts[http.StatusCreated]) / overCPU.Seconds() / (float64(full.counts[http.StatusCreated]) / fullCPU.Seconds())
	t.Logf("%.0f %% of the capacity, %.0f %% by processor time (%v of %v)", 100*share, 100*worth, overCPU, over.lasted.Round(time.Millisecond))
	least := c.least
	if !long { // a short measurement is imprecise
		least *= 0.7
	}
	if max(share, worth) < least {
		t.Errorf("only %.0f %% of the capacity", 100*share)
	}
	if p99 := percentile(over.took, 99); p99 > 3*time.Second {
		t.Errorf("served callers waited %v (p99)", p99)
	}
	const each = 50 // KB: the limit for a connection with a request
	if limit := before + 50 + c.connections*each/1000; most > limit {
		t.Errorf("the server took %d MB, and %d MB before", most, before)
	}
	if got, want := percentile(after.took, 50), max(10*time.Millisecond, 5*percentile(calm.took, 50)); got > want {
		t.Errorf("afterwards an answer takes %v (p50), want %v at most", got, want)
	}
	if n := after.counts[http.StatusServiceUnavailable]; n > 0 {
		t.Errorf("afterwards %d requests are still shed", n)
	}
}

// watchMemory polls the memory of a process until it is stopped, and returns the maximum
// in MB.
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

// TestManyCallersForOneName lets many callers reserve one name at the same time.
func TestManyCallersForOneName(t *testing.T) {
	t.Parallel()
	// On a busy machine not all are served within the defaults.
	dir := t.TempDir()
	writeFile(t, dir, "dibs.toml", "[limits]\nmaxWait = \"1m\"\n")
	p := serve(t, dir, "--config", "dibs.toml", "--request-timeout", patience.String())
	for _, callers := range []int{100, 1000} {
		name := fmt.Sprintf("rush-%d", callers)
		statuses, took := reserveAtOnce(t, p.url, name, callers)
		if statuses[http.StatusCreated] != 1 || statuses[http.StatusConflict] != callers-1 {
			t.Errorf("%d callers: %v", callers, statuses)
		}
		slices.Sort(took)
		t.Logf("%d callers: p50 %v, p99 %v", callers, took[len(took)/2], took[len(took)*99/100])
	}
}

// reserveAtOnce sends the requests of all callers concurrently, over open connections.
func reserveAtOnce(t *testing.T, url, name string, callers int) (map[int]int, []time.Duration) {
	t.Helper()
	client := newClient(t, callers)
	var (
		ready, done sync.WaitGroup
		begin       = make(chan struct{})
		mu          sync.Mutex
		statuses    = make(map[int]int)
		took        []time.Duration
	)
	ready.Add(callers)
	for i := range callers {
		done.Go(func() {
			_, err := ask(client, http.MethodGet, url+"/healthz", "")
			ready.Done()
			<-begin
			start := time.Now()
			a, failed := ask(client, http.MethodPost, url+"/v1/reservations", reservation(name, fmt.Sprint(i)))
			mu.Lock()
			defer mu.Unlock()
			if err != nil || failed != nil {
				t.Error(err, failed)
			}
			statuses[a.status]++
			took = append(took, time.Since(start))
		})
	}
	ready.Wait()
	close(begin)
	done.Wait()
	return statuses, took
}
