//go:build unix

package pgtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

var errNotInstalled = errors.New("PostgreSQL is not installed: run `make test`, which installs it, or `apt-get install postgresql`")

// findPrograms returns the folder of PostgreSQL's programs, which DIBS_TEST_POSTGRES names, or
// that of the newest server. Debian keeps the server out of the PATH, in a folder for each version.
func findPrograms() (string, error) {
	if folder := os.Getenv("DIBS_TEST_POSTGRES"); folder != "" {
		return firstServer([]string{folder})
	}
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well formed
	folders = newestFirst(folders)
	if path, err := exec.LookPath("postgres"); err == nil {
		// initdb and the others are in the folder of the real file, not of a link to it.
		if path, err = filepath.EvalSymlinks(path); err == nil {
			folders = append(folders, filepath.Dir(path))
		}
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(out)))
	}
	return firstServer(folders)
}

func newestFirst(folders []string) []string {
	return slices.SortedFunc(slices.Values(folders), func(a, b string) int { return version(b) - version(a) })
}

// firstServer returns the first folder with a server, not only with a client.
func firstServer(folders []string) (string, error) {
	for _, folder := range folders {
		if isFile(filepath.Join(folder, "postgres")) && isFile(filepath.Join(folder, "initdb")) {
			return folder, nil
		}
	}
	return "", errNotInstalled
}

// version is Debian's name of the folder above: 15, or 9.6 in the past, which counts as 0.
func version(folder string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
	return n
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
