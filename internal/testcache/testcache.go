// Package testcache keeps what takes long to make and is always the same, such as the files of an
// empty database server, for all test binaries.
package testcache

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Folder returns a folder of the user's cache, and the first time makes it: fill creates the folder
// that it is given. What the content depends on is in key, such as the version of a program. Callers
// must not change the content.
func Folder(key []string, fill func(folder string) error) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "dibs-tests", fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(key, "\n"))))[:16])
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	unfinished, err := os.MkdirTemp(filepath.Dir(path), "unfinished")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(unfinished)
	made := filepath.Join(unfinished, "folder")
	if err := fill(made); err != nil {
		return "", err
	}
	// The folder appears whole, or not at all if this process is killed. If another process was faster,
	// its folder stays.
	if err := os.Rename(made, path); err != nil && !exists(path) {
		return "", err
	}
	return path, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Version returns what a key needs to know of a program: another build of it has another version.
func Version(program string) (string, error) {
	file, err := os.Stat(program)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d %v", program, file.Size(), file.ModTime()), nil
}
