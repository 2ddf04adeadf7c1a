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
	"github.com/calldibs/dibs/internal/lineartest"
)

// cluster is an etcd cluster with the faults that can be injected into it.
type cluster struct {
	*testing.T
	*etcdtest.Cluster
	random *rand.Rand
}

// Several stores on three etcd members. One member at a time is killed, paused, cut off from the
// others or from its clients, or loses packets. One store knows only one member, so it is sometimes
// in the minority.
func TestHistoriesOnEtcd(t *testing.T) {
	t.Parallel()
	uncut := etcdtest.CheckNetwork()
	if uncut != nil {
		fmt.Fprintf(os.Stderr, "*** %s does not cut members off: %v ***\n", t.Name(), uncut)
	}
	e := &cluster{T: t, Cluster: etcdtest.Start(t, etcdtest.Options{Network: uncut == nil})}
	regs := []*dibs.Registry{
		registry(t, e.open(e.Endpoints())), registry(t, e.open(e.Endpoints())), registry(t, e.open(e.Endpoints()[:1])),
	}
	faults := []fault{
		{"killed", (*etcdtest.Member).Kill, func(m *etcdtest.Member) { m.Restart(t) }},
		{"paused", func(m *etcdtest.Member) { m.Pause(t) }, func(m *etcdtest.Member) { m.Resume(t) }},
	}
	if uncut == nil {
		isolated := fault{"isolated", func(m *etcdtest.Member) { m.Isolate(t) }, func(m *etcdtest.Member) { m.Rejoin(t) }}
		hidden := fault{"hidden", func(m *etcdtest.Member) { m.Hide(t) }, func(m *etcdtest.Member) { m.Show(t) }}
		faults = append(faults, isolated, isolated, hidden)
	}
	packets := 0
	if lossless := etcdtest.CheckLoss(); lossless != nil {
		fmt.Fprintf(os.Stderr, "*** %s loses no packets: %v ***\n", t.Name(), lossless)
	} else {
		faults = append(faults, fault{
			"with lost packets",
			func(m *etcdtest.Member) { m.Lose(t, 5+e.random.IntN(40)) }, func(m *etcdtest.Member) { packets += m.Deliver(t) },
		})
	}
	lineartest.Run(t, "on etcd", linear.Site{
		Registries: regs, Patience: 2 * time.Second, Concurrent: 12,
		Fault: func(random *rand.Rand) string {
			e.random = random
			return e.inject(faults[random.IntN(len(faults))])
		},
	}, lineartest.Count(t, 12))
	if os.Getenv("HISTORIES") != "" {
		t.Logf("figure: packets lost on etcd = %d", packets)
	}
}

func (e *cluster) open(endpoints []string) dibs.Store {
	e.Helper()
	return mustOpen(e, func() (dibs.Store, error) {
		return etcdstore.Open(e.Context(), etcdstore.Config{
			Endpoints: endpoints, Timeout: 900 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
	})
}

// victim picks the leader or any other member.
func (e *cluster) victim() (member *etcdtest.Member, rank string) {
	leader, followers := e.Leader(e.T)
	if e.random.IntN(2) == 0 {
		return leader, "leader"
	}
	return followers[e.random.IntN(len(followers))], "follower"
}

// wait waits: shorter than an election of a leader takes, or longer.
func (e *cluster) wait() {
	time.Sleep(time.Duration(100+e.random.IntN(1200)) * time.Millisecond)
}

// fault disturbs one member for a while.
type fault struct {
	name       string
	begin, end func(*etcdtest.Member)
}

func (e *cluster) inject(f fault) string {
	member, rank := e.victim()
	f.begin(member)
	e.wait()
	f.end(member)
	return rank + " " + f.name
}
