//go:build unix

package etcdtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
)

// built is the folder with the program that memberProgram has built; empty if it has not.
var built string

// memberProgram builds the program of members, once in this process. It is a module of its own, in
// the folder member: users of Dibs do not get etcd's server among their modules.
var memberProgram = sync.OnceValues(func() (path string, err error) {
	_, self, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("etcdtest: no source")
	}
	if built, err = os.MkdirTemp("", "etcdtest-program"); err != nil {
		return "", err
	}
	path = filepath.Join(built, "member")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = filepath.Join(filepath.Dir(self), "member")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("etcdtest: building a member: %w\n%s", err, out)
	}
	return path, nil
})
