//go:build unix

package torture

import (
	"os/exec"
	"syscall"
)

// detach keeps a terminal's Ctrl-C from a process: the run ends it.
func detach(process *exec.Cmd) { process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// stop and proceed halt a process and let it go on.
func (s *server) stop() error    { return s.process.Process.Signal(syscall.SIGSTOP) }
func (s *server) proceed() error { return s.process.Process.Signal(syscall.SIGCONT) }
