//go:build unix

package pgtest

import "syscall"

// credential is the user that runs PostgreSQL.
type credential = syscall.Credential

// detached runs a process as PostgreSQL's user, and without a terminal's Ctrl-C.
func (h *home) detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: h.credential, Setpgid: true}
}

func kill(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }
