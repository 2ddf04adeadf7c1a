package server

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Of many clients that reserve one name at the same time exactly one gets it.
func TestStampede(t *testing.T) {
	t.Parallel()
	sizes := []int{100, 1000}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, e, nil)
			for _, clients := range sizes {
				stampede(r, clients)
			}
		})
	}
}

func stampede(r *rig, clients int) {
	r.Helper()
	var (
		ready    sync.WaitGroup
		gone     sync.WaitGroup
		start    = make(chan struct{})
		statuses = make([]int, clients)
		took     = make([]time.Duration, clients)
		body     = fmt.Sprintf(`{"namespace": "slug", "value": "the one of %d"}`, clients)
	)
	ready.Add(clients)
	for i := range clients {
		gone.Go(func() {
			ready.Done()
			<-start
			began := time.Now()
			res, err := r.client.Post(r.http.URL+"/v1/reservations", "application/json", strings.NewReader(body))
			if err != nil {
				r.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			statuses[i], took[i] = res.StatusCode, time.Since(began)
		})
	}
	ready.Wait()
	close(start)
	gone.Wait()
	count := make(map[int]int)
	for _, s := range statuses {
		count[s]++
	}
	if count[http.StatusCreated] != 1 || count[http.StatusConflict] != clients-1 {
		r.Errorf("of %d clients: %v by status, want one 201 and otherwise 409", clients, count)
	}
	slices.Sort(took)
	r.Logf("%d clients at once: p50 %v, p99 %v", clients, took[clients/2].Round(time.Millisecond), took[clients*99/100].Round(time.Millisecond))
}
