// Package testcache keeps what takes long to make and is always the same, such as the files of an
// empty database server, for all test binaries.
package testcache

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
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
	if exists(path) {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	removeAbandoned(filepath.Join(filepath.Dir(path), unfinishedName+"*"))
	unfinished, err := os.MkdirTemp(filepath.Dir(path), unfinishedName)
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

// The folder of a process that is still filling it is not old.
const (
	unfinishedName = "unfinished"
	old            = time.Hour
)

// removeAbandoned removes the folders of processes that were killed before they were finished.
func removeAbandoned(pattern string) {
	paths, _ := filepath.Glob(pattern) // nothing depends on it
	for _, path := range paths {
		if folder, err := os.Stat(path); err == nil && time.Since(folder.ModTime()) > old {
			_ = os.RemoveAll(path)
		}
	}
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
