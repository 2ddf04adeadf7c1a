package servetest_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestManyCallersForOneName lets many callers reserve one name at the same time.
func TestManyCallersForOneName(t *testing.T) {
	t.Parallel()
	// On a busy machine not all are served within the default of one second.
	dir := t.TempDir()
	writeFile(t, dir, "dibs.toml", "[limits]\nmaxWait = \"10s\"\n")
	p := serve(t, dir, "--config", "dibs.toml")
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
