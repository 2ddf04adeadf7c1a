//go:build unix

package torture

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/calldibs/dibs/internal/harness"
	"github.com/calldibs/dibs/internal/pgproxy"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/internal/testdisk"
)

// cluster is a private PostgreSQL cluster, and the proxy between servers and it.
type cluster struct {
	*pgtest.Cluster
	proxy *pgproxy.Proxy
	clock *fakeClock
}

const readOnly = "default_transaction_read_only"

// databaseFaults happen to PostgreSQL, and to the network before it.
var databaseFaults = []fault{
	{Fault: Fault{"db-kill", "PostgreSQL is killed, all of its processes, and started again", "postgres"}, inject: func(t *run, _ *rand.Rand) time.Time {
		t.cluster.Kill(t.harness)
		gone := time.Now()
		t.cluster.Restart(t.harness)
		return gone
	}},
	{Fault: Fault{"db-stop", "PostgreSQL is halted for up to two seconds", "postgres"}, inject: func(t *run, random *rand.Rand) time.Time {
		halted := t.cluster.Processes()
		for _, pid := range halted {
			_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended
		}
		pause(random, 100*time.Millisecond, 2*time.Second)
		for _, pid := range halted {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
		return time.Now()
	}},
	{Fault: Fault{"db-cut", "the connections to PostgreSQL are cut, and for a while refused", "postgres"}, inject: func(t *run, random *rand.Rand) time.Time {
		t.cluster.proxy.Refuse(true)
		t.cluster.proxy.CutAll()
		pause(random, 20*time.Millisecond, time.Second)
		t.cluster.proxy.Refuse(false)
		return time.Now()
	}},
	{Fault: Fault{"db-delay", "the network to PostgreSQL is slow", "postgres"}, inject: onExchanges(func(*pgproxy.Exchange) pgproxy.Action {
		later := make(chan struct{})
		time.AfterFunc(time.Duration(rand.Int64N(int64(300*time.Millisecond))), func() { close(later) })
		return pgproxy.Stall(later)
	})},
	{Fault: Fault{"commit-lost", "PostgreSQL commits, and its answer is lost", "postgres"}, inject: onExchanges(func(x *pgproxy.Exchange) pgproxy.Action {
		if x.Commits() && rand.IntN(4) == 0 {
			return pgproxy.CutAfter()
		}
		return pgproxy.Pass()
	})},
	{Fault: Fault{"serialization", "commits fail with 40001", "postgres"}, inject: onExchanges(func(x *pgproxy.Exchange) pgproxy.Action {
		if x.Commits() && rand.IntN(2) == 0 {
			return pgproxy.FailCommit("40001")
		}
		return pgproxy.Pass()
	})},
	{Fault: Fault{"db-read-only", "transactions of PostgreSQL are read-only", "postgres"}, inject: func(t *run, random *rand.Rand) time.Time {
		t.cluster.Configure(t.harness, readOnly, "on")
		pause(random, 50*time.Millisecond, time.Second)
		t.cluster.Configure(t.harness, readOnly, "")
		return time.Now()
	}},
	{Fault: Fault{"standby", "commits wait for a standby that is away", "postgres"}, inject: func(t *run, random *rand.Rand) time.Time {
		t.cluster.WithoutStandby(t.harness, func() { pause(random, 50*time.Millisecond, time.Second) })
		return time.Now()
	}},
}

// databaseDiskFaults happen to the disk of PostgreSQL.
var databaseDiskFaults = []fault{
	fullDiskFault("db-disk-full", "the disk of PostgreSQL is full", "postgres", 2*time.Second, func(t *run) { t.cluster.Revive(t.harness) }),
	powerFault("db-power", "PostgreSQL is killed, and what was not written to its disk is lost", "postgres",
		func(t *run) { t.cluster.Kill(t.harness) }, func(t *run) { t.cluster.Restart(t.harness) }),
}

// databaseClockFaults happen to the clock of PostgreSQL.
var databaseClockFaults = []fault{
	{Fault: Fault{"db-clock", "the clock of PostgreSQL jumps by up to three hours, and back", "postgres"}, clock: true, inject: func(t *run, random *rand.Rand) time.Time {
		return t.jumpAll(random, t.cluster.clock.set)
	}},
}

// fakeClock moves the clock of PostgreSQL, a dynamically linked program, by the library faketime.
type fakeClock struct {
	t    *run
	path string
}

func newFakeClock(t *run) (*fakeClock, []string, error) {
	libraries, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1") // the pattern is well formed
	if len(libraries) == 0 {
		return nil, nil, errors.New("it needs the library faketime (Debian and Ubuntu: apt-get install libfaketime)")
	}
	folder, err := os.MkdirTemp("", "dibs-clock-") // not in the run's folder, which PostgreSQL's user cannot enter
	if err != nil {
		return nil, nil, err
	}
	forget := harness.GuardFolder(folder)
	t.harness.Cleanup(func() {
		os.RemoveAll(folder)
		forget()
	})
	c := &fakeClock{t, filepath.Join(folder, "clock")}
	// The library calls malloc when it reads the file, and PostgreSQL asks for the time in signal handlers, where that can damage
	// the memory of a backend. So the library reads it when a second begins, and not whenever it is asked.
	return c, []string{
		"LD_PRELOAD=" + libraries[0], "FAKETIME_TIMESTAMP_FILE=" + c.path, "FAKETIME_CACHE_DURATION=0", "FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1",
	}, c.write(0)
}

// set moves the clock to so much ahead of the machine's, for all backends.
func (c *fakeClock) set(ahead time.Duration) error {
	defer time.Sleep(1100 * time.Millisecond) // until each of them reads it
	return c.write(ahead)
}

func (c *fakeClock) write(ahead time.Duration) error {
	next := c.path + ".next"
	if err := os.WriteFile(next, fmt.Appendf(nil, "%+f\n", ahead.Seconds()), 0o600); err != nil {
		return err
	}
	pgtest.Own(c.t.harness, filepath.Dir(c.path))
	return os.Rename(next, c.path)
}

// onExchanges is a fault of what servers and PostgreSQL say to each other. It lasts until it has
// disturbed something.
func onExchanges(hook pgproxy.Hook) func(*run, *rand.Rand) time.Time {
	return func(t *run, random *rand.Rand) time.Time {
		var felt atomic.Bool
		t.cluster.proxy.SetHook(func(x *pgproxy.Exchange) pgproxy.Action {
			action := hook(x)
			if action != pgproxy.Pass() {
				felt.Store(true)
			}
			return action
		})
		defer t.cluster.proxy.SetHook(nil)
		pause(random, 100*time.Millisecond, time.Second)
		t.untilFelt(random, &felt)
		return time.Now()
	}
}

// openCluster starts a private cluster, on a disk of its own if it can have one.
func openCluster(t *run) (engine, error) {
	var options pgtest.Options
	e := engine{about: "a private PostgreSQL cluster", faults: slices.Concat(serverFaults, databaseFaults)}
	if t.wants(databaseDiskFaults) {
		var err error
		if t.disk, err = testdisk.New(t.harness); err == nil {
			options.Folder = t.disk.Path
			options.Settings = map[string]string{"fsync": "on", "full_page_writes": "on"}
		}
		e = e.with(databaseDiskFaults, err)
	}
	c := &cluster{}
	if t.wants(databaseClockFaults) {
		var err error
		c.clock, options.Env, err = newFakeClock(t)
		e = e.with(databaseClockFaults, err)
	}
	c.Cluster = pgtest.Start(t.harness, options)
	if t.disk != nil {
		t.must(t.disk.Sync()) // the cluster itself was copied
	}
	network, address := c.SocketAddr()
	c.proxy = pgproxy.Start(t.harness, network, address)
	t.cluster = c
	e.store = c.proxy.DSN(c.DSN("postgres"))
	return e, nil
}
