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

func init() { PerProcessor(2) }

// PerProcessor sets how many tests run concurrently for each processor. Call it in TestMain.
func PerProcessor(tests int) {
	testing.Init() // registers the flag
	_ = flag.Set("test.parallel", strconv.Itoa(tests*runtime.GOMAXPROCS(0)))
}
