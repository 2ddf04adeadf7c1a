package servetest_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// crowd reserves names, each worker one after another on a connection of its own, until
// it is stopped, or its server is gone or says that it goes.
type crowd struct {
	stopped  atomic.Bool
	workers  sync.WaitGroup
	answered atomic.Int64

	mu       sync.Mutex
	acked    map[string]string // who was told that a name is theirs
	failures []string          // answers that must not be
	lost     int               // requests without an answer
}

// startCrowd starts workers. Names and entities begin with a word of their own.
func startCrowd(t *testing.T, url, word string, workers int) *crowd {
	t.Helper()
	c := &crowd{acked: make(map[string]string)}
	for w := range workers {
		client := newClient(t, 1)
		c.workers.Go(func() {
			for i := 0; !c.stopped.Load(); i++ {
				name := fmt.Sprintf("%s-%d-%d", word, w, i)
				a, err := ask(client, http.MethodPost, url+"/v1/reservations", reservation(name, "owner-of-"+name))
				if !c.note(name, a, err) || a.last {
					return
				}
			}
		})
	}
	t.Cleanup(c.stop)
	return c
}

// note keeps an answer, and reports whether there was one.
func (c *crowd) note(name string, a answer, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.lost++
		if len(c.failures) < 5 {
			c.failures = append(c.failures, err.Error())
		}
		return false
	case a.status == http.StatusCreated:
		c.acked[name] = "owner-of-" + name
	default:
		c.failures = append(c.failures, fmt.Sprintf("%d %s", a.status, a.body))
	}
	c.answered.Add(1)
	return true
}

// stop lets the workers finish.
func (c *crowd) stop() {
	c.stopped.Store(true)
	c.workers.Wait()
}

// mustBeWhole fails if any request was lost or refused.
func (c *crowd) mustBeWhole(t *testing.T) {
	t.Helper()
	for _, failure := range c.failures {
		t.Errorf("a request failed: %s", failure)
	}
}

// mustHave fails if a server does not know what was acknowledged.
func mustHave(t *testing.T, url string, acked map[string]string) {
	t.Helper()
	found, missing := holders(t, url), 0
	for name, entity := range acked {
		if found[name] != entity {
			missing++
			t.Logf("%s was acknowledged for %s, and is %q's", name, entity, found[name])
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d acknowledged names are not there", missing, len(acked))
	}
	t.Logf("%d acknowledged names, all looked for", len(acked))
}
