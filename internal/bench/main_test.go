//go:build unix

package bench

import (
	"os"
	"testing"

	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/etcdtest"
	_ "github.com/calldibs/dibs/internal/parallel"
)

// TestMain lets the test binary run as the command line, or as a member of an etcd cluster.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(cli.Process{
			Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		}.Run())
	}
	etcdtest.Main(m)
}
