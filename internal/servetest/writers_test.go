package servetest_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// writers reserve names, each worker one after another on its own connection, until they
// are stopped, or the server closes or announces to close the connection.
type writers struct {
	stopped  atomic.Bool
	workers  sync.WaitGroup
	answered atomic.Int64

	mu       sync.Mutex
	acked    map[string]string // the acknowledged owner of each name
	failures []string          // unexpected answers
	lost     int               // requests without an answer
}

// startWriters starts workers. Names and entities begin with word.
func startWriters(t *testing.T, url, word string, workers int) *writers {
	t.Helper()
	c := &writers{acked: make(map[string]string)}
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

// note records an answer, and reports whether there was one.
func (c *writers) note(name string, a answer, err error) bool {
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

// stop stops the workers after their current request.
func (c *writers) stop() {
	c.stopped.Store(true)
	c.workers.Wait()
}

// mustNotFail fails if any request was lost or refused.
func (c *writers) mustNotFail(t *testing.T) {
	t.Helper()
	for _, failure := range c.failures {
		t.Errorf("a request failed: %s", failure)
	}
}

// mustHave fails if a server lacks acknowledged names.
func mustHave(t *testing.T, url string, acked map[string]string) {
	t.Helper()
	found, missing := holders(t, url), 0
	for name, entity := range acked {
		if found[name] != entity {
			missing++
			t.Logf("%s was acknowledged for %s, its owner is %q", name, entity, found[name])
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d acknowledged names are missing", missing, len(acked))
	}
	t.Logf("%d acknowledged names checked", len(acked))
}
