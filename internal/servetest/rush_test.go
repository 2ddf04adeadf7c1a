package servetest_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestRush lets many want one name at the same moment.
func TestRush(t *testing.T) {
	t.Parallel()
	// A machine may be too busy to serve all of them within the second that others wait.
	dir := t.TempDir()
	writeFile(t, dir, "dibs.toml", "[limits]\nmaxWait = \"10s\"\n")
	p := serve(t, dir, "--config", "dibs.toml")
	for _, callers := range []int{100, 1000} {
		name := fmt.Sprintf("rush-%d", callers)
		statuses, took := rush(t, p.url, name, callers)
		if statuses[http.StatusCreated] != 1 || statuses[http.StatusConflict] != callers-1 {
			t.Errorf("%d callers: %v", callers, statuses)
		}
		slices.Sort(took)
		t.Logf("%d callers: p50 %v, p99 %v", callers, took[len(took)/2], took[len(took)*99/100])
	}
}

// rush sends a request of each caller at once, over connections that are open already.
func rush(t *testing.T, url, name string, callers int) (map[int]int, []time.Duration) {
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
