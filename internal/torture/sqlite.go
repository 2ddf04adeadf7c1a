package torture

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver that takes a lock

	"github.com/calldibs/dibs/internal/testdisk"
)

// fileFaults happen to the file of SQLite.
var fileFaults = []fault{
	{Fault: Fault{"lock", "another process keeps the file locked against writers", "sqlite"}, inject: func(t *run, random *rand.Rand) time.Time {
		unlock := t.lockFile()
		pause(random, 20*time.Millisecond, 2*time.Second)
		unlock()
		return time.Now()
	}},
	damageFault,
	{Fault: Fault{"clock", "the clock of all servers jumps by up to three hours, and back", "sqlite"}, clock: true, inject: func(t *run, random *rand.Rand) time.Time {
		return t.jumpAll(random, func(ahead time.Duration) error { return setClock(t.clockPath(0), ahead) })
	}},
}

// diskFaults happen to the disk with the file.
var diskFaults = []fault{
	fullDiskFault("disk-full", "the disk is full", "sqlite", time.Second, func(*run) {}), // servers must not end
	{Fault: Fault{"read-only", "all servers are killed, and find the disk read-only", "sqlite"}, inject: func(t *run, _ *rand.Rand) time.Time {
		t.killServers()
		t.must(t.disk.SetReadOnly(true))
		for _, s := range t.servers {
			if err := s.start(); err == nil || !strings.Contains(err.Error(), "cannot write to") {
				t.harness.Fatalf("server %d does not say that it cannot write: %v", s.number, err)
			}
		}
		t.must(t.disk.SetReadOnly(false))
		gone := time.Now()
		t.startServers()
		return gone
	}},
	powerFault("power", "all servers are killed, and what was not written to the disk is lost", "sqlite", (*run).killServers, (*run).startServers),
}

// openFile is a private SQLite file, on a disk of its own if it can have one.
func openFile(t *run) engine {
	folder, e := t.Folder, engine{about: "a private SQLite file", faults: slices.Concat(serverFaults, fileFaults)}
	if t.wants(diskFaults) {
		var err error
		if t.disk, err = testdisk.New(t.harness); err == nil {
			folder = t.disk.Path
		}
		e = e.with(diskFaults, err)
	}
	t.file = filepath.Join(folder, "names.db")
	e.store = "sqlite:" + t.file
	return e
}

// lockFile takes the write lock of the file, and returns what releases it.
func (t *run) lockFile() (unlock func()) {
	db, err := sql.Open("sqlite", "file:"+t.file+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		t.harness.Fatal(err)
	}
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		_ = db.Close()
		t.harness.Fatal(err)
	}
	return func() {
		_ = tx.Rollback()
		_ = db.Close()
	}
}
