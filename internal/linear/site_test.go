//go:build unix

package linear_test

import (
	"os"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/linear"
	"github.com/calldibs/dibs/internal/parallel"
)

// TestMain lets the test binary run as a member of an etcd cluster, or as a process that
// writes to a file.
func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		os.Exit(workForever(path))
	}
	parallel.PerProcessor(8) // they mostly wait
	etcdtest.Main(m)
}

// registry opens a registry on a store, with the policies of histories.
func registry(tb testing.TB, store dibs.Store) *dibs.Registry {
	tb.Helper()
	return coretest.MustOpen(tb, store, linear.Config())
}
