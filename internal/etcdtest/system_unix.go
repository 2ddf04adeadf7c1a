//go:build unix

package etcdtest

import (
	"errors"
	"os"
	"syscall"
)

// The signals that halt a process and let it go on.
const (
	stop    = syscall.SIGSTOP
	proceed = syscall.SIGCONT
)

// lock waits for the lock of a file.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil
}
