// Package durable keeps the names of files when the power fails.
package durable

import (
	"errors"
	"os"
	"runtime"
)

// Folder writes the entries of a folder to the disk: a file that was synced there and then got its name
// still has it when the power fails.
func Folder(path string) error {
	if runtime.GOOS == "windows" {
		return nil // it cannot, and keeps a journal of names
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
