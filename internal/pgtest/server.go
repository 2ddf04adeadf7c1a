//go:build unix

package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/calldibs/dibs/internal/harness"
	"github.com/calldibs/dibs/internal/testcache"
)

const (
	superuser  = "postgres"
	port       = "5432" // only names the socket: each cluster has its own folder
	socketName = ".s.PGSQL." + port
)

// usualSettings are safe when processes are killed, because the system keeps what was
// written. They need not be safe against a power failure.
var usualSettings = map[string]string{
	"listen_addresses":   "",
	"fsync":              "off",
	"full_page_writes":   "off",
	"synchronous_commit": "on",
	"max_connections":    "200",
	"shared_buffers":     "64MB",
}

// template returns the output of initdb. To copy it is much faster.
var template = sync.OnceValues(func() (string, error) {
	bin, err := findPrograms()
	if err != nil {
		return "", err
	}
	version, err := testcache.Version(filepath.Join(bin, "postgres"))
	if err != nil {
		return "", err
	}
	args := []string{"--no-sync", "-A", "trust", "-U", superuser, "-E", "UTF8", "--locale=C"}
	return testcache.Folder(append(args, version, fmt.Sprint(os.Geteuid())), func(folder string) error {
		h, err := newHome("", true)
		if err != nil {
			return err
		}
		defer h.remove()
		if err := h.run("initdb", append(args, "-D", h.data())...); err != nil {
			return err
		}
		return copyFolder(h.data(), folder)
	})
})

// copyFolder copies a folder with its owner.
func copyFolder(from, to string) error {
	if out, err := exec.Command("cp", "-Rp", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	return nil
}

func startCluster(opts Options) (*Cluster, error) {
	empty, err := template()
	if err != nil {
		return nil, err
	}
	settings := maps.Clone(usualSettings)
	maps.Copy(settings, opts.Settings)
	h, err := newHome(opts.Folder, settings["fsync"] == "off")
	if err != nil {
		return nil, err
	}
	h.env = opts.Env
	c := &Cluster{home: h, settings: settings}
	if !isFile(filepath.Join(h.data(), "PG_VERSION")) { // otherwise an earlier cluster kept it
		if err := copyFolder(empty, h.data()); err != nil {
			h.remove()
			return nil, err
		}
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

// end removes a cluster that is no longer needed.
func (c *Cluster) end(tb harness.TB) {
	tb.Helper()
	if c.home.kept != "" && !c.postmaster.hasEnded() {
		c.Stop(tb) // in order, so that its next start is fast
	}
	if c.postmaster.killed {
		// Killed processes leave shared memory in the system, which has little of it.
		// Only PostgreSQL's next start finds and removes it.
		if err := c.start(); err != nil {
			tb.Log(err)
		}
	}
	c.home.remove()
}

// Stop shuts the cluster down in order; clients are disconnected.
func (c *Cluster) Stop(tb harness.TB) {
	tb.Helper()
	c.mustBeOwn(tb)
	if err := c.postmaster.signal(syscall.SIGINT); err != nil {
		tb.Fatal(err)
	}
	if err := c.postmaster.awaitEnd(); err != nil {
		tb.Fatalf("%v; the end of its log:\n%s", err, c.home.logTail())
	}
}

// Kill ends the cluster like a crash: kill -9 for each of its processes. It returns when
// they are gone.
func (c *Cluster) Kill(tb harness.TB) {
	tb.Helper()
	c.mustBeOwn(tb)
	if err := c.postmaster.kill(); err != nil {
		tb.Fatal(err)
	}
	// Each backend leads its own process group, but all of them have the data folder as
	// working directory. Without /proc, they soon notice that the postmaster is gone.
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

// Processes returns the IDs of the cluster's processes: the postmaster, one for each connection,
// and the background ones. It returns none on systems without /proc.
func (c *Cluster) Processes() []int { return processesIn(c.home.data()) }

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

// Restart starts the cluster on its data and at its address again, and returns once it
// answers. A running cluster is stopped first.
func (c *Cluster) Restart(tb harness.TB) {
	tb.Helper()
	c.mustBeOwn(tb)
	if !c.postmaster.hasEnded() {
		c.Stop(tb)
	}
	if err := c.start(); err != nil {
		tb.Fatal(err)
	}
}

// Revive returns once the cluster answers, and starts it if it has ended by itself, as PostgreSQL
// does when it cannot write.
func (c *Cluster) Revive(tb harness.TB) {
	tb.Helper()
	c.mustBeOwn(tb)
	err := await("PostgreSQL answers", func() (bool, error) {
		if !c.postmaster.hasEnded() {
			return c.answers(), nil
		}
		return true, c.start()
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func (c *Cluster) mustBeOwn(tb harness.TB) {
	tb.Helper()
	if c.shared {
		tb.Fatal("other tests use the shared cluster: stop a cluster of pgtest.Start instead")
	}
}

// await polls until ask returns true or an error.
func await(what string, ask func() (bool, error)) error {
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		yes, err := ask()
		if yes || err != nil {
			return err
		}
		if time.Since(begin) > patience {
			return fmt.Errorf("not within %v: %s", patience, what)
		}
	}
}

func lastLines(text []byte, n int) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-n):], nil)
}
