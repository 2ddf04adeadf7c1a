//go:build unix

package harness_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/harness"
)

// guardedEnv names a folder, and makes the test binary a process that guards it.
const guardedEnv = "HARNESS_GUARDED"

func TestMain(m *testing.M) {
	if folder := os.Getenv(guardedEnv); folder != "" {
		beKilled(folder)
	}
	os.Exit(m.Run())
}

// beKilled guards two folders and two processes, forgets one of each, and waits. The processes keep stdout
// open.
func beKilled(folder string) {
	for _, name := range []string{"forgotten", "with a space"} {
		path := filepath.Join(folder, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			panic(err)
		}
		forget := harness.GuardFolder(path)
		sleeper := exec.Command("sleep", "1000")
		sleeper.Stdout = os.Stdout
		if err := sleeper.Start(); err != nil {
			panic(err)
		}
		end := harness.GuardProcess(sleeper.Process.Pid)
		if name == "forgotten" {
			forget()
			_ = sleeper.Process.Kill()
			_ = sleeper.Wait()
			end()
		}
	}
	fmt.Println("ready")
	select {}
}

// A process that is killed leaves what it has forgotten, and nothing else.
func TestGuard(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), guardedEnv+"="+folder)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); strings.TrimSpace(line) != "ready" {
		t.Fatalf("%q, %v", line, err)
	}
	_ = child.Process.Kill()
	if _, err := io.Copy(io.Discard, said); err != nil { // until no process has stdout
		t.Error(err)
	}
	_ = child.Wait()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		_, err := os.Stat(filepath.Join(folder, "with a space"))
		if errors.Is(err, os.ErrNotExist) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the folder is still there: %v", err)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "forgotten")); err != nil {
		t.Error(err)
	}
}
