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

	"github.com/calldibs/dibs/internal/testcache"
)

// memberProgram builds the program of members. It is a module of its own, in the folder member: users
// of Dibs do not get etcd's server among their modules. All test binaries of all clones share the result,
// until the module or Go changes: each of them would link it, or ask go build whether it has changed.
var memberProgram = sync.OnceValues(func() (path string, err error) {
	_, self, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("etcdtest: no source")
	}
	source := filepath.Join(filepath.Dir(self), "member")
	key, err := memberKey(source)
	if err != nil {
		return "", fmt.Errorf("etcdtest: reading the source of a member: %w", err)
	}
	folder, err := testcache.Folder(key, func(folder string) error {
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", folder+"/", ".")
		build.Dir = source
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("etcdtest: building a member: %w\n%s", err, out)
		}
		return nil
	})
	return filepath.Join(folder, "member"), err
})

// memberKey is all that the program depends on: go.sum has the hashes of the modules of others.
func memberKey(source string) (key []string, err error) {
	key = []string{"etcd member", runtime.Version(), runtime.GOOS, runtime.GOARCH, os.Getenv("GOFLAGS")}
	for _, pattern := range []string{"*.go", "go.*"} {
		files, err := filepath.Glob(filepath.Join(source, pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			key = append(key, filepath.Base(file), string(text))
		}
	}
	return key, nil
}
