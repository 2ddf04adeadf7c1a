// Package durable keeps the names of files when the power fails.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// Folder writes the entries of a folder to the disk: a file that was synced there and then got its name
// still has it when the power fails. Where that cannot be done, it does nothing: the file is there.
func Folder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // it cannot, and keeps a journal of names
	}
	folder, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil // files can be made in it, but it cannot be read
	}
	if err != nil {
		return err
	}
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) {
		err = nil // folders shared with a virtual machine, for example
	}
	return errors.Join(err, folder.Close())
}
