//go:build !unix

package etcdtest

import "syscall"

// Tests compile on other systems, where no signal halts a process: sending these fails.
const (
	stop    = syscall.SIGTRAP
	proceed = syscall.SIGTRAP
)

// lock does nothing: there tests only compile.
func lock(string) (unlock func(), err error) { return func() {}, nil }
