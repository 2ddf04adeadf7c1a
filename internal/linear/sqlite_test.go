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

	_ "modernc.org/sqlite" // the driver by which a lock is taken

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/linear"
	"github.com/calldibs/dibs/sqlitestore"
)

// childEnv names a file that the test binary is to work on, as a process of its own.
const childEnv = "DIBS_LINEAR_CHILD"

// workForever writes to a file until it is killed. It says when it begins.
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

// Several stores on one file, which another process keeps locked for longer than they wait,
// and yet another is killed in the middle of writing to.
func TestHistoriesOnSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "names.db")
	storm, slow := new(atomic.Bool), new(atomic.Bool)
	var regs []*dibs.Registry
	for range 3 {
		store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Config{BusyTimeout: 25 * time.Millisecond, Now: slowClock(slow)})
		if err != nil {
			t.Fatal(err)
		}
		regs = append(regs, registry(t, flakyStore(t, store, storm)))
	}
	linear.Run(t, linear.Site{
		Registries: regs, Patience: time.Second,
		Harm: func(random *rand.Rand) string {
			switch random.IntN(7) {
			case 0:
				return killChild(t, path, random)
			case 1, 2:
				return keepLocked(t, path, random)
			case 3, 4:
				return slowDown(slow, random)
			default:
				return blow(storm, random)
			}
		},
	}, linear.Count(t, 40))
}

// slowClock is a clock that is late to tell the time, while it is slow: a commit has the file
// locked from before it looks at the clock until others see it, and that takes longer then
// than short holds live.
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

// killChild lets another process write to the file, and kills it.
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
	_ = child.Wait() // that it was killed is no news
	return "process killed"
}

// keepLocked keeps everybody from writing.
func keepLocked(t *testing.T, path string, random *rand.Rand) string {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(1000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		return "" // somebody else was always faster
	}
	time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
	_ = tx.Rollback()
	return "locked"
}
