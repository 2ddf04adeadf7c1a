//go:build unix

package etcdstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
)

// long reports whether long tests run.
func long() bool { return os.Getenv("DIBS_TEST_LONG") != "" }

// quiet is a config for a cluster that will fail.
func quiet(cluster *etcdtest.Cluster) etcdstore.Config {
	return etcdstore.Config{Endpoints: cluster.Endpoints(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

// crowd reserves names. It repeats a request with an unknown outcome with the same token.
type crowd struct {
	reg   *dibs.Registry
	stop  chan struct{}
	group sync.WaitGroup

	mu      sync.Mutex
	held    map[dibs.ID]string // what was acknowledged
	last    time.Time          // when that last happened
	unknown atomic.Int64

	unserved atomic.Int64 // UNAVAILABLE answers
}

// crowdSize callers wait this long after each name: there are always some calls in progress, and time for
// the members.
const crowdSize, pause = 16, 10 * time.Millisecond

func gather(reg *dibs.Registry) *crowd {
	c := &crowd{reg: reg, stop: make(chan struct{}), held: make(map[dibs.ID]string)}
	for i := range crowdSize {
		c.group.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-c.stop:
					return
				case <-time.After(pause):
					c.reserve(fmt.Sprintf("name-%d-%d", i, n))
				}
			}
		})
	}
	return c
}

// reserve repeats the request until it is answered.
func (c *crowd) reserve(value string) {
	token := dibs.NewToken()
	for {
		result, err := c.reg.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: value, Token: token})
		switch {
		case err == nil:
			c.mu.Lock()
			c.held[result.ID], c.last = value, time.Now()
			c.mu.Unlock()
			return
		case errors.Is(err, dibs.ErrOutcomeUnknown):
			c.unknown.Add(1)
		case errors.Is(err, dibs.ErrUnavailable):
			c.unserved.Add(1)
		default:
			panic(fmt.Sprintf("%s: %v", value, err)) // the name was free, and no other caller wants it
		}
	}
}

// servedAfter makes a request, and returns how long after a moment it was acknowledged.
func (c *crowd) servedAfter(t *testing.T, moment time.Time) time.Duration {
	t.Helper()
	value := fmt.Sprint("probe-", moment.UnixNano())
	c.reserve(value)
	return time.Since(moment)
}

// check ends the crowd. Each acknowledged name must have exactly one event.
func (c *crowd) check(t *testing.T) {
	t.Helper()
	close(c.stop)
	c.group.Wait()
	events := make(map[dibs.ID]int)
	var cursor dibs.Cursor
	for {
		page, err := c.reg.Events(t.Context(), dibs.FeedQuery{After: cursor, Limit: 500})
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range page.Events {
			if event.Namespace == "slug" {
				events[event.ID]++
			}
			cursor = event.Cursor
		}
		if len(page.Events) == 0 {
			break
		}
	}
	for id, value := range c.held {
		if events[id] != 1 {
			t.Errorf("%s was acknowledged, and has %d events", value, events[id])
		}
	}
	if len(events) != len(c.held) {
		t.Errorf("%d names have events, %d were acknowledged", len(events), len(c.held))
	}
	t.Logf("%d names, %d unknown outcomes, %d times unavailable", len(c.held), c.unknown.Load(), c.unserved.Load())
}

// inTime checks how long something took, in a long run: any machine may be busy otherwise.
func inTime(t *testing.T, what string, took, most time.Duration) {
	t.Helper()
	t.Logf("%s took %v", what, took)
	if took > most && long() {
		t.Errorf("%s took %v, want %v at most", what, took, most)
	}
}

// back is how long a cluster may take until it serves again.
const back = 5 * time.Second

// If one member fails, the others go on, and no acknowledged name is lost or reserved twice.
func TestOneMemberFails(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a while")
	}
	for _, c := range []struct {
		name   string
		always bool
		fail   func(t *testing.T, leader, follower *etcdtest.Member) (again func())
	}{
		{"the leader is killed", true, func(t *testing.T, leader, _ *etcdtest.Member) func() {
			leader.Kill()
			return func() { leader.Restart(t) }
		}},
		{"a follower is killed", false, func(t *testing.T, _, follower *etcdtest.Member) func() {
			follower.Kill()
			return func() { follower.Restart(t) }
		}},
		{"the leader is paused", false, func(t *testing.T, leader, _ *etcdtest.Member) func() {
			leader.Pause(t)
			return func() { leader.Resume(t) }
		}},
		{"a follower is paused", true, func(t *testing.T, _, follower *etcdtest.Member) func() {
			follower.Pause(t)
			return func() { follower.Resume(t) }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.always && !long() {
				t.Skip("DIBS_TEST_LONG is not set")
			}
			t.Parallel()
			cluster := etcdtest.Start(t, etcdtest.Options{})
			crowd := gather(register(t, quiet(cluster), dibs.Config{}))
			crowd.servedAfter(t, time.Now())
			leader, followers := cluster.Leader(t)
			for range rounds() {
				moment := time.Now()
				again := c.fail(t, leader, followers[0])
				inTime(t, "serving again", crowd.servedAfter(t, moment), back)
				crowd.servedAfter(t, time.Now())
				again()
				crowd.servedAfter(t, time.Now())
				leader, followers = cluster.Leader(t)
			}
			crowd.check(t)
		})
	}
}

func rounds() int {
	if long() {
		return 5
	}
	return 1
}

// A member that has lost the others changes nothing, and does not return old data.
func TestMostMembersFail(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, etcdtest.Options{})
	cfg := quiet(cluster)
	cfg.Timeout = 1500 * time.Millisecond
	reg := register(t, cfg, dibs.Config{})
	store := open(t, cfg)
	hold := dibs.Reserve{Namespace: "slug", Value: "before", Token: dibs.NewToken()}
	eventually(t, "the cluster serves", func() bool {
		_, err := reg.Reserve(t.Context(), hold)
		return err == nil
	})
	leader, followers := cluster.Leader(t)
	leader.Kill()
	followers[0].Kill()

	if _, err := store.Load(t.Context(), []dibs.Ref{{Kind: dibs.KindName, ID: dibs.NameID("slug", "before")}}); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("a read: %v, want UNAVAILABLE", err)
	}
	if _, err := store.Events(t.Context(), dibs.EventQuery{Limit: 1}); !errors.Is(err, dibs.ErrUnavailable) {
		t.Errorf("the feed: %v, want UNAVAILABLE", err)
	}
	during := dibs.Reserve{Namespace: "slug", Value: "during", Token: dibs.NewToken()}
	if _, err := reg.Reserve(t.Context(), during); !errors.Is(err, dibs.ErrUnavailable) && !errors.Is(err, dibs.ErrOutcomeUnknown) {
		t.Errorf("a write: %v, want UNAVAILABLE or OUTCOME_UNKNOWN", err)
	}
	leader.Restart(t)
	followers[0].Restart(t)
	eventually(t, "the same token gets an answer", func() bool {
		_, err := reg.Reserve(t.Context(), during)
		return err == nil
	})
	for _, again := range []dibs.Reserve{hold, during} {
		wantReplay(t, reg, again)
	}
}

// answered makes a call until it is answered: after a failure the members may elect several times. It
// returns the error of the answer.
func answered(t *testing.T, what string, call func() error) (err error) {
	t.Helper()
	eventually(t, what+" is answered", func() bool {
		err = call()
		return !errors.Is(err, dibs.ErrUnavailable) && !errors.Is(err, dibs.ErrOutcomeUnknown)
	})
	return err
}

// wantReplay repeats a request that was answered before.
func wantReplay(t *testing.T, reg *dibs.Registry, again dibs.Reserve) {
	t.Helper()
	var result dibs.Hold
	err := answered(t, again.Value, func() (err error) {
		result, err = reg.Reserve(context.Background(), again)
		return err
	})
	if err != nil || !result.Replayed {
		t.Errorf("%s: %v, want a replay", again.Value, err)
	}
}
