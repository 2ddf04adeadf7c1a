//go:build unix

package linear_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"

	_ "modernc.org/sqlite" // the driver that takes a lock

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/linear"
	"github.com/calldibs/dibs/internal/lineartest"
	"github.com/calldibs/dibs/sqlitestore"
)

// childEnv names the file that the test binary writes to as a child process.
const childEnv = "DIBS_LINEAR_CHILD"

// workForever writes to a file until it is killed. It prints a line when it begins.
func workForever(path string) int {
	store, err := sqlitestore.Open(context.Background(), path, sqlitestore.Config{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	reg, err := core.Open(store, linear.Config())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("begun")
	for i := 0; ; i++ {
		_, _ = reg.Reserve(context.Background(), dibs.Reserve{
			Namespace: "child.plain", Value: fmt.Sprintf("%d-%d", os.Getpid(), i), TTL: dibs.For(time.Millisecond),
		})
	}
}

// Several stores on one file. Another process keeps it locked for longer than they wait, and
// one more is killed while it writes to the file.
func TestHistoriesOnSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "names.db")
	faulty, slow := new(atomic.Bool), new(atomic.Bool)
	var regs []*dibs.Registry
	for range 3 {
		store := mustOpen(t, func() (dibs.Store, error) {
			return sqlitestore.Open(t.Context(), path, sqlitestore.Config{BusyTimeout: 25 * time.Millisecond, Now: slowClock(slow)})
		})
		regs = append(regs, registry(t, flakyStore(t, store, faulty)))
	}
	lineartest.Run(t, "on SQLite", linear.Site{
		Registries: regs, Patience: time.Second, Concurrent: 8,
		Fault: func(random *rand.Rand) string {
			switch random.IntN(7) {
			case 0:
				return killChild(t, path, random)
			case 1, 2:
				return keepLocked(t, path, random)
			case 3, 4:
				return slowDown(slow, random)
			default:
				return disturb(faulty, random)
			}
		},
	}, lineartest.Count(t, 24))
}

// slowClock returns a clock that, while slow is set, returns the time late: a commit keeps the
// file locked from before it reads the clock until it is visible, which then takes longer
// than short holds last.
func slowClock(slow *atomic.Bool) func() time.Time {
	return func() time.Time {
		now := time.Now()
		if slow.Load() && rand.IntN(4) == 0 {
			time.Sleep(rand.N(100 * time.Millisecond))
		}
		return now
	}
}

// slowDown makes commits slow for a while.
func slowDown(slow *atomic.Bool, random *rand.Rand) string {
	slow.Store(true)
	defer slow.Store(false)
	time.Sleep(time.Duration(50+random.IntN(100)) * time.Millisecond)
	return "slow"
}

// killChild starts another process that writes to the file, and kills it.
func killChild(t *testing.T, path string, random *rand.Rand) string {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+path)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	_, _, _ = bufio.NewReader(out).ReadLine()
	time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
	_ = child.Process.Kill()
	_ = child.Wait() // it was killed on purpose
	return "process killed"
}

// keepLocked locks the file against all writers.
func keepLocked(t *testing.T, path string, random *rand.Rand) string {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(1000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		return "" // another writer was always faster
	}
	time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
	_ = tx.Rollback()
	return "locked"
}
