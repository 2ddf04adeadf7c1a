//go:build unix

package figures

import (
	"os"
	"syscall"
)

// Lock waits until no other process has the lock of a folder, and takes it.
func Lock(folder string) (unlock func(), err error) {
	file, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}
