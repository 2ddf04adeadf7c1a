//go:build unix

package harness

import (
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// guardScript reads what is to be undone, as lists that end with a dot: each replaces the one before. At
// the end of its input, also that of a killed process, it undoes the last list that is complete.
const guardScript = `
all= next=
while IFS= read -r line; do
	if [ "$line" = . ]; then all=$next next=; else next="$next$line
"; fi
done
printf %s "$all" | while IFS= read -r line; do
	value=${line#* }
	case $line in
	kill*) kill -s KILL -- "$value" ;;
	unmount*) umount -l -- "$value" ;;
	remove*) rm -rf -- "$value" ;;
	esac
done
`

// guard is a process that undoes what this one leaves behind if it is killed. It runs while there is
// something to undo.
var guard struct {
	sync.Mutex
	process *exec.Cmd
	input   io.WriteCloser
	duties  []*string // oldest first
}

// GuardProcess kills a process if this one ends without calling forget, however it ends. Call forget as soon as
// the process was waited for: another one may get its ID.
func GuardProcess(pid int) (forget func()) { return undoLater(fmt.Sprintf("kill %d", pid)) }

// GuardMount unmounts what is mounted at a path if this process ends without calling forget.
func GuardMount(path string) (forget func()) { return undoLater("unmount " + path) }

// GuardFolder removes a folder if this process ends without calling forget.
func GuardFolder(path string) (forget func()) { return undoLater("remove " + path) }

func undoLater(line string) (forget func()) {
	guard.Lock()
	defer guard.Unlock()
	duty := &line
	guard.duties = append(guard.duties, duty)
	tellGuard()
	return sync.OnceFunc(func() {
		guard.Lock()
		defer guard.Unlock()
		guard.duties = slices.DeleteFunc(guard.duties, func(d *string) bool { return d == duty })
		tellGuard()
	})
}

// tellGuard tells the guard what is to be undone, the last first. Without a shell there is no guard: all is
// undone anyway unless this process is killed.
func tellGuard() {
	if guard.process == nil && !startGuard() {
		return
	}
	var list strings.Builder
	for _, duty := range slices.Backward(guard.duties) {
		fmt.Fprintln(&list, *duty)
	}
	list.WriteString(".\n")
	_, _ = io.WriteString(guard.input, list.String()) // a guard that was killed reads nothing
	if len(guard.duties) == 0 {
		_ = guard.input.Close()
		_ = guard.process.Wait()
		guard.process = nil
	}
}

func startGuard() bool {
	process := exec.Command("sh", "-c", guardScript)
	process.Dir = "/"
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's Ctrl-C must not end it
	input, err := process.StdinPipe()
	if err != nil || process.Start() != nil {
		return false
	}
	guard.process, guard.input = process, input
	return true
}
