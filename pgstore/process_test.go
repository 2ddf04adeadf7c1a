package pgstore_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/parallel"
	"github.com/calldibs/dibs/internal/pgtest"
	"github.com/calldibs/dibs/pgstore"
)

const childEnv = "DIBS_PG_CHILD"

// TestMain makes the test binary a racing process if childEnv is set.
func TestMain(m *testing.M) {
	if task := os.Getenv(childEnv); task != "" {
		if err := raceForNames(task); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	parallel.PerProcessor(4)
	os.Exit(m.Run())
}

const (
	racers      = 4
	raceCallers = 64
	raceNames   = 1000
	raceLaps    = 4 // how often each process asks for each name
)

// raceResult is the output of a racing process.
type raceResult struct {
	Won      []string
	Refused  int
	Batches  int64
	Commits  int64
	Failures []string // unexpected errors
}

// raceForNames reserves every name by many concurrent callers, and prints the result.
func raceForNames(task string) error {
	dsn, schema, _ := strings.Cut(task, " ")
	var result raceResult
	var batches, commits atomic.Int64
	// Suggestions would be most of the work.
	reg, err := openRegistry(place{dsn, schema}, pgstore.Config{}, dibs.Config{Suggestions: -1, Observer: dibs.Observer{Batch: func(b dibs.BatchInfo) {
		batches.Add(1)
		commits.Add(int64(b.Commits))
	}}})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := io.ReadAll(os.Stdin); err != nil { // all begin when it is closed
		return err
	}
	var (
		next atomic.Int64
		mu   sync.Mutex
	)
	each(raceCallers, func(int) {
		for i := next.Add(1) - 1; i < raceLaps*raceNames; i = next.Add(1) - 1 {
			name := fmt.Sprint("name-", i%raceNames)
			_, err := reg.Reserve(context.Background(), dibs.Reserve{Namespace: "slug", Value: name})
			mu.Lock()
			switch {
			case err == nil:
				result.Won = append(result.Won, name)
			case errors.Is(err, dibs.ErrNameTaken):
				result.Refused++
			default:
				result.Failures = append(result.Failures, err.Error())
			}
			mu.Unlock()
		}
	})
	result.Batches, result.Commits = batches.Load(), commits.Load()
	return errors.Join(reg.Close(), json.NewEncoder(os.Stdout).Encode(result))
}

// racer is a process that races for names.
type racer struct {
	cmd   *exec.Cmd
	start io.Closer
	out   *bufio.Reader
}

// startRacer returns once the process is ready.
func startRacer(t *testing.T, at place) *racer {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+at.dsn+" "+at.schema)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	r := &racer{cmd, in, bufio.NewReader(out)}
	if line, err := r.out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the output of a process is %q, %v", line, err)
	}
	return r
}

func (r *racer) result(t *testing.T) (result raceResult) {
	t.Helper()
	if err := json.NewDecoder(r.out).Decode(&result); err != nil {
		t.Error(err)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Error(err)
	}
	return result
}

// Several processes want the same names. Each name goes to one of them, and all others get NAME_TAKEN.
func TestManyProcessesRaceForNames(t *testing.T) {
	t.Parallel()
	at := ownSchema(t)
	running := make([]*racer, racers)
	for i := range running {
		running[i] = startRacer(t, at)
	}
	begin := time.Now()
	for _, r := range running {
		_ = r.start.Close()
	}
	winners := make(map[string]int)
	var batches, commits int64
	for _, r := range running {
		result := r.result(t)
		for _, failure := range result.Failures {
			t.Error(failure)
		}
		if got := len(result.Won) + result.Refused; got != raceLaps*raceNames {
			t.Errorf("a process got %d answers, want %d", got, raceLaps*raceNames)
		}
		for _, name := range result.Won {
			winners[name]++
		}
		batches, commits = batches+result.Batches, commits+result.Commits
	}
	for i := range raceNames {
		if n := winners[fmt.Sprint("name-", i)]; n != 1 {
			t.Errorf("name-%d has %d winners", i, n)
		}
	}
	t.Logf("%d calls in %v, by %d batches with %d commits", racers*raceLaps*raceNames, time.Since(begin), batches, commits)
}

// The server is killed several times under load. All acknowledged changes are in the database and in
// the feed.
func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, pgtest.Options{})
	at := place{dsn: cluster.DSN("postgres")}
	// One store finds out unknown outcomes once the server is back, the other has a short timeout and
	// leaves that to its callers.
	patient := registry(t, at, dibs.Config{})
	hasty := registryOn(t, at, pgstore.Config{Timeout: 100 * time.Millisecond}, dibs.Config{})
	j := newJournal(t, patient, hasty)
	stop := j.work()
	for range usually(5, 100) {
		j.awaitProgress(100)
		cluster.Kill(t)
		cluster.Restart(t)
	}
	first := j.awaitProgress(100)
	stop()
	j.check()
	t.Logf("calls succeeded again %v after the last restart", first)
}

// After a restart of an idle server the pool is full of dead connections. No call fails.
func TestRestartOfAnIdleServer(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t, pgtest.Options{})
	reg := registry(t, place{dsn: cluster.DSN("postgres")}, dibs.Config{})
	ask := func(what string) {
		if _, err := reg.IsReserved(t.Context(), "slug", what); err != nil {
			t.Errorf("reading %s: %v", what, err)
		}
		if _, err := reg.Reserve(t.Context(), dibs.Reserve{Namespace: "slug", Value: what}); err != nil {
			t.Errorf("reserving %s: %v", what, err)
		}
	}
	for round := range usually(3, 5) {
		each(callers, func(caller int) { ask(fmt.Sprintf("round-%d-%d", round, caller)) })
		cluster.Kill(t)
		cluster.Restart(t)
		ask(fmt.Sprintf("round-%d-alone", round))
	}
}
