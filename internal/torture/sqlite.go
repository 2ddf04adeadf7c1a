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
	{Fault: Fault{"disk-full", "the disk is full", "sqlite"}, inject: func(t *run, random *rand.Rand) time.Time {
		t.must(t.disk.fill())
		pause(random, 20*time.Millisecond, time.Second)
		t.must(t.disk.empty())
		return time.Now()
	}},
	{Fault: Fault{"read-only", "all servers are killed, and find the disk read-only", "sqlite"}, inject: func(t *run, _ *rand.Rand) time.Time {
		for _, s := range t.servers {
			t.kill(s)
		}
		t.must(t.disk.setReadOnly(true))
		for _, s := range t.servers {
			if err := s.start(); err == nil || !strings.Contains(err.Error(), "cannot write to") {
				t.harness.Fatalf("server %d does not say that it cannot write: %v", s.number, err)
			}
		}
		t.must(t.disk.setReadOnly(false))
		gone := time.Now()
		for _, s := range t.servers {
			t.must(s.start())
		}
		return gone
	}},
}

// openFile is a private SQLite file, on a disk of its own if it can have one.
func openFile(t *run) engine {
	folder, e := t.Folder, engine{about: "a private SQLite file", faults: slices.Concat(serverFaults, fileFaults)}
	if t.wants(diskFaults) {
		var err error
		if t.disk, err = newDisk(t); err == nil {
			folder = t.disk.path
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
