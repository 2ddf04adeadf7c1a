//go:build unix

package linear_test

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/etcdstore"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/linear"
)

// ensemble is an etcd cluster, and all that can be done to it.
type ensemble struct {
	*testing.T
	*etcdtest.Cluster
	random *rand.Rand
}

// Several stores on three etcd members, of which one at a time is killed, or paused, or
// cut off from the others or from its clients. One store knows a single member, so that it
// is in the minority now and then.
func TestHistoriesOnEtcd(t *testing.T) {
	t.Parallel()
	uncut := etcdtest.CheckNetwork()
	if uncut != nil {
		fmt.Fprintf(os.Stderr, "*** %s cuts no member off: %v ***\n", t.Name(), uncut)
	}
	e := &ensemble{T: t, Cluster: etcdtest.Start(t, etcdtest.Options{Network: uncut == nil})}
	regs := []*dibs.Registry{
		registry(t, e.open(e.Endpoints())), registry(t, e.open(e.Endpoints())), registry(t, e.open(e.Endpoints()[:1])),
	}
	harms := []func() string{e.kill, e.pause}
	if uncut == nil {
		harms = append(harms, e.isolate, e.isolate, e.hide)
	}
	linear.Run(t, linear.Site{
		Registries: regs, Patience: 2 * time.Second, AtOnce: 6,
		Harm: func(random *rand.Rand) string {
			e.random = random
			return harms[random.IntN(len(harms))]()
		},
	}, linear.Count(t, 16))
}

func (e *ensemble) open(endpoints []string) dibs.Store {
	e.Helper()
	store, err := etcdstore.Open(e.Context(), etcdstore.Config{
		Endpoints: endpoints, Timeout: 900 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		e.Fatal(err)
	}
	return store
}

// victim picks the leader or any other member.
func (e *ensemble) victim() (member *etcdtest.Member, rank string) {
	leader, followers := e.Leader(e.T)
	if e.random.IntN(2) == 0 {
		return leader, "leader"
	}
	return followers[e.random.IntN(len(followers))], "follower"
}

// while lets time pass: less than it takes to choose a new leader, or more.
func (e *ensemble) while() {
	time.Sleep(time.Duration(100+e.random.IntN(1200)) * time.Millisecond)
}

func (e *ensemble) kill() string {
	member, rank := e.victim()
	member.Kill()
	e.while()
	member.Restart(e.T)
	return rank + " killed"
}

func (e *ensemble) pause() string {
	member, rank := e.victim()
	member.Pause(e.T)
	e.while()
	member.Resume(e.T)
	return rank + " paused"
}

func (e *ensemble) isolate() string {
	member, rank := e.victim()
	member.Isolate(e.T)
	e.while()
	member.Rejoin(e.T)
	return rank + " isolated"
}

func (e *ensemble) hide() string {
	member, rank := e.victim()
	member.Hide(e.T)
	e.while()
	member.Show(e.T)
	return rank + " hidden"
}
