//go:build unix

package torture_test

import (
	"os"
	"testing"

	"github.com/calldibs/dibs/internal/cli"
	"github.com/calldibs/dibs/internal/etcdtest"
	"github.com/calldibs/dibs/internal/parallel"
)

// childEnv makes the test binary the command line.
const childEnv = "TORTURE_CHILD"

// TestMain lets the test binary run as a server, in a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(cli.Process{
			Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		}.Run())
	}
	parallel.PerProcessor(4) // they mostly wait
	etcdtest.Main(m)
}
