//go:build unix

package torture_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/torture"
)

// A run in which nothing happened proves nothing, and leaves nothing.
func TestNothingTried(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	cfg := config(t, "sqlite")
	cfg.Folder, cfg.For, cfg.Faults = "", time.Nanosecond, []string{"cut"}
	if r, err := torture.Run(t.Context(), cfg); !errors.Is(err, torture.ErrTooShort) || !strings.Contains(err.Error(), "in 1ns") {
		t.Errorf("%+v, %v", r, err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

// A run that ends before it has reached a wanted number says so.
func TestNotReached(t *testing.T) {
	t.Parallel()
	notShort(t)
	cfg := config(t, "sqlite")
	cfg.Histories, cfg.Each, cfg.Faults = 1_000_000, 1000, []string{"delay"}
	ctx, interrupt := context.WithCancel(t.Context())
	cfg.Progress = func(p torture.Progress) {
		if p.Histories > 0 {
			interrupt()
		}
	}
	r, err := torture.Run(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	mustBeRight(t, r)
	if !r.Interrupted || len(r.NotReached) != 2 || !strings.HasSuffix(r.NotReached[0], " of 1000000 histories") || !regexp.MustCompile(`^delay \d+ of 1000 times$`).MatchString(r.NotReached[1]) {
		t.Errorf("interrupted: %v, not reached: %q", r.Interrupted, r.NotReached)
	}
	cfg.Histories, cfg.Each, cfg.Faults, cfg.Progress = 1, 0, []string{}, nil
	if r := mustRun(t, cfg); r.Interrupted || len(r.NotReached) > 0 {
		t.Errorf("interrupted: %v, not reached: %q", r.Interrupted, r.NotReached)
	}
}

// A server that does not start ends the run, with what its log says is wrong, and not with the hints behind it.
func TestServerDoesNotStart(t *testing.T) {
	t.Parallel()
	cfg := config(t, "sqlite")
	cfg.Program = []string{"sh", "-c", "echo 'time=1 level=INFO msg=starting'; echo 'dibs: it is broken'; echo '  buy another one'; exit 1", "sh"}
	_, err := torture.Run(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "server 1 does not start: dibs: it is broken; the logs") {
		t.Errorf("got %v", err)
	}
}

// A run that is interrupted while a server starts ends at once, says what the server waits for, and leaves nothing.
func TestInterruptedAtStart(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	cfg := config(t, "sqlite")
	cfg.Folder = ""
	cfg.Program = []string{"sh", "-c", "echo 'time=1 level=WARN msg=\"the store does not answer\"'; exec sleep 1000", "sh"}
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			logs, _ := filepath.Glob(filepath.Join(temporary, "dibs-torture-*", "server-1.log"))
			if len(logs) == 1 {
				if text, _ := os.ReadFile(logs[0]); strings.Contains(string(text), "answer") {
					interrupt()
				}
			}
		}
	}()
	began := time.Now()
	_, err := torture.Run(ctx, cfg)
	if !errors.Is(err, torture.ErrInterrupted) || !strings.Contains(err.Error(), `before server 1 listened: msg="the store does not answer"`) {
		t.Errorf("got %v", err)
	}
	if d := time.Since(began); d > 50*time.Second { // a server has a minute
		t.Errorf("it took %v", d)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

// Nothing survives a run that is killed: neither servers nor folders and disks.
func TestKilledRunLeavesNothing(t *testing.T) {
	t.Parallel()
	notShort(t)
	temporary := t.TempDir()
	child := exec.Command(os.Args[0], "torture", "--for", "0", "--faults", "power,delay")
	if os.Geteuid() != 0 {
		child.Args[len(child.Args)-1] = "delay" // only root has disks
	}
	child.Env = append(os.Environ(), childEnv+"=1", "TMPDIR="+temporary)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	kill := sync.OnceFunc(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	t.Cleanup(kill)
	await(t, "both servers serve", func() bool {
		logs, _ := filepath.Glob(filepath.Join(temporary, "dibs-torture-*", "server-*.log"))
		return len(logs) == 2 && !slices.ContainsFunc(logs, func(path string) bool {
			log, _ := os.ReadFile(path)
			return !strings.Contains(string(log), "msg=serving")
		})
	})
	if runtime.GOOS == "linux" && len(processesOn(temporary)) == 0 {
		t.Error("no server is found")
	}
	kill()
	await(t, "no server runs", func() bool { return len(processesOn(temporary)) == 0 })
	await(t, "no file is left", func() bool {
		left, err := os.ReadDir(temporary)
		return err == nil && len(left) == 0
	})
}

// processesOn returns the processes with a folder in their arguments: servers have that of their configuration. It
// finds none on systems without /proc.
func processesOn(folder string) (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well formed
	for _, path := range all {
		if arguments, err := os.ReadFile(path); err == nil && strings.Contains(string(arguments), folder) {
			found = append(found, string(arguments))
		}
	}
	return found
}

// await waits for a condition, as long as a busy machine may need.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within two minutes: %s", what)
		}
	}
}
