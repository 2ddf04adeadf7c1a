// Package parallel runs more tests of a package concurrently than there are processors. It
// is for tests that mostly wait: for holds to end, servers to start, commits to be written.
// Importing it is enough; the flag -parallel still wins.
package parallel

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
)

const perProcessor = 4

func init() {
	testing.Init() // registers the flag
	_ = flag.Set("test.parallel", strconv.Itoa(perProcessor*runtime.GOMAXPROCS(0)))
}
