//go:build unix

package linear_test

import (
	"os"
	"testing"
	"time"

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

// mustOpen opens a store. Timeouts of stores are short here, and a busy machine may need longer at first.
func mustOpen(tb testing.TB, open func() (dibs.Store, error)) dibs.Store {
	tb.Helper()
	for began := time.Now(); ; {
		store, err := open()
		if err == nil {
			return store
		}
		if time.Since(began) > 2*time.Minute {
			tb.Fatal(err)
		}
	}
}

// registry opens a registry on a store, with the policies of histories.
func registry(tb testing.TB, store dibs.Store) *dibs.Registry {
	tb.Helper()
	return coretest.MustOpen(tb, store, linear.Config())
}
