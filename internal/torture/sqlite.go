package torture

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"slices"
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
}

// openFile is a private SQLite file.
func openFile(t *run, path string) engine {
	t.file = path
	return engine{store: "sqlite:" + path, about: "a private SQLite file", faults: slices.Concat(serverFaults, fileFaults)}
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
