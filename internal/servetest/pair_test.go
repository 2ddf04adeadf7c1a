package servetest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/dibsclient"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/pgtest"
)

// TestOneOfTwoServersIsKilled lets callers of two servers on one database race for names
// and kills one server meanwhile. A caller that moves to the other server is served within
// five seconds, and each name has one acknowledged owner.
func TestOneOfTwoServersIsKilled(t *testing.T) {
	t.Parallel()
	killOneOfTwo(t, func() string { return newSchema(t, pgtest.Shared(t)) })
}

// TestOneOfTwoServersOnEtcdIsKilled does the same with two servers on three etcd members.
func TestOneOfTwoServersOnEtcdIsKilled(t *testing.T) {
	t.Parallel()
	notRaced(t)
	cluster := etcdtest.Start(t, etcdtest.Options{})
	killOneOfTwo(t, func() string {
		return "etcd://" + strings.Join(cluster.Endpoints(), ",") + "/" + cluster.Prefix() + "names"
	})
}

// killOneOfTwo checks that each name has one owner, and how long callers were without service: on a busy machine repeatedly.
func killOneOfTwo(t *testing.T, newStore func() string) {
	t.Helper()
	const most = 5 * time.Second
	var worst time.Duration
	for range 3 {
		if worst = killOne(t, newStore()); worst <= most {
			return
		}
	}
	t.Errorf("a caller was without service for %v", worst)
}

func killOne(t *testing.T, store string) (worst time.Duration) {
	t.Helper()
	first := serve(t, t.TempDir(), "--store", store)
	second := serve(t, t.TempDir(), "--store", store)
	r := newRace(t, first.url, second.url)
	const callers = 16
	for caller := range callers {
		r.callers.Go(func() { r.run(t, caller) })
	}
	awaitLoad(t, func() bool { return r.calls.Load() > 500 })
	first.kill(t)
	after := r.calls.Load()
	await(t, "all callers have moved", func() bool { return r.moved.Load() >= callers/2 && r.calls.Load() > after+500 })
	r.stopped.Store(true)
	r.callers.Wait()

	t.Logf("%d calls, %d callers moved, the longest call took %v", r.calls.Load(), r.moved.Load(), time.Duration(r.worst.Load()))
	mustHave(t, second.url, r.winners)
	return time.Duration(r.worst.Load())
}

// race is many callers that race for the same names.
type race struct {
	servers [2]*dibs.Registry
	stopped atomic.Bool
	callers sync.WaitGroup
	calls   atomic.Int64
	moved   atomic.Int64 // callers that have changed their server
	worst   atomic.Int64 // duration of the longest call, with its failed attempts

	mu      sync.Mutex
	winners map[string]string
}

func newRace(t *testing.T, urls ...string) *race {
	t.Helper()
	r := &race{winners: make(map[string]string)}
	for i, address := range urls {
		var err error
		if r.servers[i], err = dibsclient.Dial(address, dibsclient.Options{Timeout: 4 * time.Second, Retries: 1}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.servers[i].Close() })
	}
	t.Cleanup(func() {
		r.stopped.Store(true)
		r.callers.Wait()
	})
	return r
}

// run reserves one name after another. A caller of each server tries to get each name.
func (r *race) run(t *testing.T, caller int) {
	at := caller % 2
	for i := 0; !r.stopped.Load(); i++ {
		entity := dibs.Entity{Type: "worker", ID: fmt.Sprintf("caller-%d-%d", caller, i)}
		reserve := dibs.Reserve{
			Namespace: "slug", Value: fmt.Sprintf("name-%d-%d", caller/2, i), Entity: entity,
			TTL: dibs.For(10 * time.Minute), Token: fmt.Sprintf("token-of-caller-%04d-%d", caller, i),
		}
		begin := time.Now()
		err := r.insist(&at, reserve)
		for took := int64(time.Since(begin)); ; {
			worst := r.worst.Load()
			if took <= worst || r.worst.CompareAndSwap(worst, took) {
				break
			}
		}
		r.calls.Add(1)
		switch {
		case err == nil:
			r.win(t, reserve.Value, entity.ID)
		case !errors.Is(err, dibs.ErrNameTaken):
			t.Errorf("caller %d: %v", caller, err)
			return
		}
	}
}

// insist asks the other server if one does not answer, with the same token: if the command
// has happened, that is a replay.
func (r *race) insist(at *int, reserve dibs.Reserve) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		_, err := r.servers[*at].Reserve(ctx, reserve)
		if ctx.Err() != nil || !errors.Is(err, dibs.ErrUnavailable) && !errors.Is(err, dibs.ErrOutcomeUnknown) {
			return err
		}
		*at = 1 - *at
		r.moved.Add(1)
	}
}

func (r *race) win(t *testing.T, name, entity string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if other, ok := r.winners[name]; ok {
		t.Errorf("%s was given to %s and to %s", name, other, entity)
	}
	r.winners[name] = entity
}

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
