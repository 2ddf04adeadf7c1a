//go:build unix

package linear_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/linear"
	_ "github.com/calldibs/dibs/internal/parallel"
)

// TestMain lets the test binary be a member of an etcd cluster, or a process that works on
// a file.
func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		os.Exit(workForever(path))
	}
	etcdtest.Main(m)
}

// registry opens a registry on a store; it closes with the test.
func registry(tb testing.TB, store dibs.Store) *dibs.Registry {
	tb.Helper()
	reg, err := dibs.Open(store, linear.Config())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = reg.Close() })
	return reg
}

// histories is how many there are to be: the number in the environment, or else a few.
func histories(tb testing.TB, few int) int {
	tb.Helper()
	if text := os.Getenv("HISTORIES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			tb.Fatalf("HISTORIES is %q: say how many histories there are to be", text)
		}
		return n
	}
	if testing.Short() {
		return max(1, few/6)
	}
	return few
}
