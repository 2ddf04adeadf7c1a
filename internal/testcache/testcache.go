//go:build unix

// Package testcache keeps what takes long to make and is always the same, such as the files of an
// empty database server, for all test binaries.
package testcache

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Folder returns a folder of the user's cache, and the first time makes it: fill creates the folder
// that it is given. Other processes that need it wait meanwhile. What the content depends on is in key,
// such as the version of a program. Callers must not change the content.
func Folder(key []string, fill func(folder string) error) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "dibs-tests", fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(key, "\n"))))[:16])
	if exists(path) {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	unlock, err := lock(path + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(path) {
		return path, nil // another process made it
	}
	unfinished := path + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil { // of a process that was killed
		return "", err
	}
	defer os.RemoveAll(unfinished)
	if err := fill(unfinished); err != nil {
		return "", err
	}
	// The folder appears whole, or not at all if this process is killed.
	return path, os.Rename(unfinished, path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

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

// Version returns what a key needs to know of a program: another build of it has another version.
func Version(program string) (string, error) {
	file, err := os.Stat(program)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d %v", program, file.Size(), file.ModTime()), nil
}
