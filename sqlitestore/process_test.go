package sqlitestore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/core"
	"github.com/calldibs/dibs/internal/parallel"

	"github.com/calldibs/dibs"
)

const childEnv = "DIBS_SQLITE_CHILD"

// TestMain makes the test binary a child process, if the environment says so: it opens a file and
// commits names with a prefix.
func TestMain(m *testing.M) {
	if task := os.Getenv(childEnv); task != "" {
		path, prefix, _ := strings.Cut(task, "|")
		work := commitForever
		switch prefix {
		case raceTask:
			work = raceForNames
		case openTask:
			work = openAndWait
		}
		if err := work(path, prefix); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	parallel.PerProcessor(5) // most tests wait for the disk
	os.Exit(m.Run())
}

// patient is for processes that want the lock of a file all the time: which of them gets it is a matter of luck.
var patient = Config{BusyTimeout: time.Minute}

// openTask lets a child open a file.
const openTask = "open"

func openAndWait(path, _ string) error {
	if _, err := Open(context.Background(), path, patient); err != nil {
		return err
	}
	fmt.Println("open")
	select {} // until it is killed
}

// commitForever prints the names whose commits were acknowledged.
func commitForever(path, prefix string) error {
	s, err := Open(context.Background(), path, patient)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		n := heldName(fmt.Sprintf("%s-%d", prefix, i))
		outcomes, err := s.Commit(context.Background(), []dibs.Group{insertGroup(n)})
		if err != nil {
			return err
		}
		fmt.Println(n.Canonical, outcomes[0] == dibs.Committed)
	}
}

const (
	raceTask  = "race"
	raceNames = 100
)

// raceForNames reserves names by several concurrent callers, and prints those that it got.
func raceForNames(path, _ string) error {
	ctx := context.Background()
	s, err := Open(ctx, path, patient)
	if err != nil {
		return err
	}
	reg, err := core.Open(s, dibs.Config{})
	if err != nil {
		return err
	}
	var (
		callers sync.WaitGroup
		mu      sync.Mutex
	)
	for caller := range 8 {
		callers.Go(func() {
			for i := range raceNames {
				name := fmt.Sprint("name-", (i+caller*13)%raceNames)
				_, fail := reg.Reserve(ctx, dibs.Reserve{Namespace: "slug", Value: name})
				mu.Lock()
				switch {
				case fail == nil:
					fmt.Println(name, true)
				case !errors.Is(fail, dibs.ErrNameTaken):
					err = fail
				}
				mu.Unlock()
			}
		})
	}
	callers.Wait()
	return errors.Join(err, reg.Close())
}

// Several processes want the same names: each name goes to one of them.
func TestManyProcessesRaceForNames(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "names.db")
	var children []*child
	for range 4 {
		children = append(children, startChild(t, path, raceTask))
	}
	winners := make(map[string]int)
	for _, c := range children {
		for c.out.Scan() {
			name, ok, _ := strings.Cut(c.out.Text(), " ")
			if ok != "true" {
				t.Errorf("the output of a process: %s", c.out.Text())
			}
			winners[name]++
		}
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	for i := range raceNames {
		if n := winners[fmt.Sprint("name-", i)]; n != 1 {
			t.Errorf("name-%d has %d winners", i, n)
		}
	}
}

type child struct {
	*exec.Cmd
	out *bufio.Scanner
}

func startChild(t *testing.T, path, prefix string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+path+"|"+prefix)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &child{cmd, bufio.NewScanner(pipe)}
}

// acknowledged reads a number of acknowledged names, then kills the child, and reads the rest of its
// output.
func (c *child) acknowledged(t *testing.T, atLeast int) []string {
	t.Helper()
	var names []string
	for c.out.Scan() {
		name, ok, _ := strings.Cut(c.out.Text(), " ")
		if ok != "true" {
			t.Errorf("the output of the child: %s", c.out.Text())
			break
		}
		names = append(names, name)
		if len(names) == atLeast {
			_ = c.Process.Kill()
		}
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	if len(names) < atLeast {
		t.Errorf("the child acknowledged %d names, want %d at least", len(names), atLeast)
	}
	return names
}

func checkThere(t *testing.T, s *Store, canonicals []string) {
	t.Helper()
	for _, canonical := range canonicals {
		n := heldName(canonical)
		if len(mustLoad(t, s, n.Ref())) != 1 {
			t.Errorf("%s was acknowledged and is missing", canonical)
		}
		events, err := s.Events(context.Background(), dibs.EventQuery{Name: n.ID, Limit: 10})
		if err != nil || len(events) != 1 {
			t.Errorf("%s has %d events (%v), want 1", canonical, len(events), err)
		}
	}
}

func TestManyProcessesCreateOneFile(t *testing.T) {
	t.Parallel()
	for round := range 3 {
		path := filepath.Join(t.TempDir(), "names.db")
		var children []*child
		for i := range 6 {
			children = append(children, startChild(t, path, fmt.Sprintf("r%d-p%d", round, i)))
		}
		var all []string
		for _, c := range children {
			all = append(all, c.acknowledged(t, 3)...)
		}
		checkThere(t, openTest(t, path, Config{}), all)
	}
}

func TestKilledProcessLosesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "names.db")
	var all []string
	for round := range 8 {
		all = append(all, startChild(t, path, fmt.Sprintf("r%d", round)).acknowledged(t, 20+round*7)...)
	}
	s := openTest(t, path, Config{})
	checkThere(t, s, all)
	if verdict := pragma(t, s, "integrity_check"); verdict != "ok" {
		t.Errorf("integrity check: %v", verdict)
	}
}
