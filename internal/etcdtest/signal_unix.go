//go:build unix

package etcdtest

import "syscall"

// The signals that halt a process and let it go on.
const (
	stop    = syscall.SIGSTOP
	proceed = syscall.SIGCONT
)
