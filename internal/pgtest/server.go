//go:build unix

package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	superuser  = "postgres"
	port       = "5432" // only names the socket: each cluster has a folder of its own
	socketName = ".s.PGSQL." + port
)

// usualSettings are safe against killed processes, since the system keeps what was
// written, and need not be safe against a power failure.
var usualSettings = map[string]string{
	"listen_addresses":   "",
	"fsync":              "off",
	"full_page_writes":   "off",
	"synchronous_commit": "on",
	"max_connections":    "200",
	"shared_buffers":     "64MB",
}

// template is the home of what initdb makes, once for a test binary: copying it is much
// faster. It is the home that is kept here, since its guard takes it for abandoned when
// the garbage collector closes their pipe.
var template = sync.OnceValues(func() (*home, error) {
	h, err := newHome()
	if err != nil {
		return nil, err
	}
	err = h.run("initdb", "-D", h.data(), "--no-sync", "-A", "trust", "-U", superuser, "-E", "UTF8", "--locale=C")
	if err != nil {
		h.remove()
		return nil, err
	}
	return h, nil
})

func startCluster(opts Options) (*Cluster, error) {
	empty, err := template()
	if err != nil {
		return nil, err
	}
	h, err := newHome()
	if err != nil {
		return nil, err
	}
	c := &Cluster{home: h, settings: maps.Clone(usualSettings)}
	maps.Copy(c.settings, opts.Settings)
	if err := h.run("cp", "-Rp", empty.data(), h.data()); err != nil {
		h.remove()
		return nil, err
	}
	if err := c.start(); err != nil {
		h.remove()
		return nil, err
	}
	return c, nil
}

// start returns once the cluster answers.
func (c *Cluster) start() error {
	args := []string{"-D", c.home.data(), "-k", c.home.dir, "-p", port}
	for _, name := range slices.Sorted(maps.Keys(c.settings)) {
		args = append(args, "-c", name+"="+c.settings[name])
	}
	postmaster, err := c.home.start("postgres", args...)
	if err != nil {
		return err
	}
	c.postmaster = postmaster
	err = await("PostgreSQL answers", func() (bool, error) {
		if postmaster.hasEnded() {
			return false, errors.New("PostgreSQL ended at its start")
		}
		return c.answers(), nil
	})
	if err != nil {
		return fmt.Errorf("%w; the end of its log:\n%s", err, c.home.logTail())
	}
	return nil
}

func (c *Cluster) answers() bool {
	return c.connected(func(ctx context.Context, conn *pgx.Conn) error { return conn.Ping(ctx) }) == nil
}

// end is for a cluster that is needed no more.
func (c *Cluster) end(tb testing.TB) {
	tb.Helper()
	if c.postmaster.killed {
		// Killed processes leave shared memory behind in the system, of which there is
		// not much. PostgreSQL finds it at its next start, and nobody else does.
		if err := c.start(); err != nil {
			tb.Log(err)
		}
	}
	c.home.remove()
}

// Stop shuts the cluster down in order; clients are thrown out.
func (c *Cluster) Stop(tb testing.TB) {
	tb.Helper()
	c.mustBeOwn(tb)
	if err := c.postmaster.signal(syscall.SIGINT); err != nil {
		tb.Fatal(err)
	}
	if err := c.postmaster.awaitEnd(); err != nil {
		tb.Fatalf("%v; the end of its log:\n%s", err, c.home.logTail())
	}
}

// Kill ends the cluster as a crash does: kill -9 for each of its processes. It returns
// when they are gone.
func (c *Cluster) Kill(tb testing.TB) {
	tb.Helper()
	c.mustBeOwn(tb)
	if err := c.postmaster.kill(); err != nil {
		tb.Fatal(err)
	}
	// Each backend leads a process group of its own, but all of them work in the data's
	// folder. Where there is no /proc, they soon notice that the postmaster is gone.
	err := await("PostgreSQL's processes are gone", func() (bool, error) {
		backends := processesIn(c.home.data())
		for _, pid := range backends {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
		}
		return len(backends) == 0, nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// processesIn returns the living processes whose working directory is this one.
func processesIn(dir string) []int {
	var pids []int
	links, _ := filepath.Glob("/proc/[0-9]*/cwd") // the pattern is well formed
	for _, link := range links {
		if cwd, err := os.Readlink(link); err != nil || cwd != dir {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(link, "/proc/%d/cwd", &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Restart starts the cluster on the data that it has, where it was before, and returns
// once it answers. A cluster that runs is stopped first.
func (c *Cluster) Restart(tb testing.TB) {
	tb.Helper()
	c.mustBeOwn(tb)
	if !c.postmaster.hasEnded() {
		c.Stop(tb)
	}
	if err := c.start(); err != nil {
		tb.Fatal(err)
	}
}

func (c *Cluster) mustBeOwn(tb testing.TB) {
	tb.Helper()
	if c.shared {
		tb.Fatal("the shared cluster belongs to other tests too: use pgtest.Start to get one that may be stopped")
	}
}

// await asks until the answer is yes or an error.
func await(what string, ask func() (bool, error)) error {
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		yes, err := ask()
		if yes || err != nil {
			return err
		}
		if time.Since(begin) > patience {
			return fmt.Errorf("waited %v in vain until %s", patience, what)
		}
	}
}

func lastLines(text []byte, n int) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-n):], nil)
}
