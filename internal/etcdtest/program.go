//go:build unix

package etcdtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
)

// memberProgram builds the program of members. It is a module of its own, in the folder member: users
// of Dibs do not get etcd's server among their modules. All test binaries share the result, which go
// build makes again only after a change.
var memberProgram = sync.OnceValues(func() (path string, err error) {
	_, self, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("etcdtest: no source")
	}
	source := filepath.Join(filepath.Dir(self), "member")
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "dibs-tests", fmt.Sprintf("%x", sha256.Sum256([]byte(source)))[:16])
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(folder, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	path = filepath.Join(folder, "member")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("etcdtest: building a member: %w\n%s", err, out)
	}
	return path, nil
})

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
