//go:build !unix

package etcdtest

import "syscall"

// Tests compile on other systems, where no signal halts a process: sending these fails.
const (
	stop    = syscall.SIGTRAP
	proceed = syscall.SIGTRAP
)
